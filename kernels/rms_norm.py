"""Root-mean-square normalisation of rows, forward and backward."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def rms_norm_fwd(
    x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor]:
    """x: [rows, n], weight: [n]. Returns the output and 1/rms as [rows, 1] in float32."""
    rows, n = x.size()
    assert weight.size(0) == n, f"weight has {weight.size(0)} elements, a row {n}"
    out = torch.empty_like(x)
    inv_rms = torch.empty([rows], dtype=torch.float32, device=x.device)
    for tile_m in hl.tile(rows):
        row = x[tile_m, :].to(torch.float32)
        scale = torch.rsqrt((row * row).mean(dim=-1) + eps)
        scaled = row * scale[:, None] * weight[:].to(torch.float32)
        out[tile_m, :] = scaled.to(out.dtype)
        inv_rms[tile_m] = scale
    return out, inv_rms.reshape(-1, 1)


@helion.kernel()
def rms_norm_bwd(
    grad_out: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, rsqrt: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of x and weight; rsqrt: [rows, 1] is the forward's second result. Weight's is summed by blocks of rows."""
    rows = x.size(0)
    n = hl.specialize(weight.size(0))
    block_m = hl.register_block_size(rows)
    grad_x = torch.empty_like(x)
    partial = x.new_empty([(rows + block_m - 1) // block_m, n], dtype=torch.float32)
    for tile_cta in hl.tile(rows, block_size=block_m):
        grad_w = weight.new_zeros(n, dtype=torch.float32)
        for tile_m in hl.tile(tile_cta.begin, tile_cta.end):
            row = x[tile_m, :].to(torch.float32)
            scale = rsqrt[tile_m, :].to(torch.float32)
            grad = grad_out[tile_m, :].to(torch.float32)
            normal = row * scale
            grad_w += (grad * normal).sum(0)
            weighted = grad * weight[None, :].to(torch.float32)
            dot = (weighted * normal).mean(-1)
            grad_x[tile_m, :] = ((weighted - normal * dot[:, None]) * scale).to(x.dtype)
        partial[tile_cta.id, :] = grad_w
    return grad_x, partial.sum(0).to(weight.dtype)
