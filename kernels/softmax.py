"""Softmax over the last dimension of a matrix: three ways forward, and backward."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Rows in one piece, by PyTorch's own softmax. x: [rows, columns]."""
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile_n in hl.tile(rows):
        out[tile_n, :] = torch.softmax(x[tile_n, :], dim=-1)
    return out


@helion.kernel()
def softmax_decomposed(x: torch.Tensor) -> torch.Tensor:
    """The same in its parts: maximum, exponentials, their sum, quotient."""
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile_n in hl.tile(rows):
        row = x[tile_n, :]
        shifted = row - row.amax(dim=1, keepdim=True)
        powers = torch.exp(shifted)
        out[tile_n, :] = powers / powers.sum(dim=1, keepdim=True)
    return out


@helion.kernel()
def softmax_two_pass(x: torch.Tensor) -> torch.Tensor:
    """Columns in blocks: one sweep keeps a running maximum and the sum relative to it, a second one writes."""
    rows, columns = x.size()
    out = torch.empty_like(x)
    block_m = hl.register_block_size(rows)
    block_n = hl.register_block_size(columns)
    for tile_m in hl.tile(rows, block_size=block_m):
        top = hl.full([tile_m], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile_m], dtype=torch.float32)
        for tile_n in hl.tile(columns, block_size=block_n):
            part = x[tile_m, tile_n]
            new_top = torch.maximum(top, part.amax(dim=1))
            total = total * torch.exp(top - new_top) + torch.exp(part - new_top[:, None]).sum(dim=1)
            top = new_top
        for tile_n in hl.tile(columns, block_size=block_n):
            part = x[tile_m, tile_n]
            out[tile_m, tile_n] = torch.exp(part - top[:, None]) / total[:, None]
    return out


@helion.kernel()
def softmax_bwd(grad_output: torch.Tensor, softmax_output: torch.Tensor) -> torch.Tensor:
    """grad_input = y * (grad_output - sum(y * grad_output)) by rows, y being the softmax's output."""
    rows, columns = grad_output.size()
    grad_input = torch.empty_like(grad_output)
    for tile_m in hl.tile(rows):
        dot = hl.zeros([tile_m], dtype=torch.float32)
        for tile_n in hl.tile(columns):
            dot += (grad_output[tile_m, tile_n] * softmax_output[tile_m, tile_n]).sum(dim=1)
        for tile_n in hl.tile(columns):
            centred = grad_output[tile_m, tile_n] - dot[:, None]
            grad_input[tile_m, tile_n] = softmax_output[tile_m, tile_n] * centred
    return grad_input
