"""Layer normalisation of rows, forward and backward."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def layer_norm_fwd(
    x: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x: [rows, n]; weight and bias: [n]. Returns output, mean and 1/std (float32, one per row)."""
    rows, n = x.size()
    assert len(normalized_shape) == 1 and normalized_shape[0] == n, "only the last dimension is normalised"
    assert weight.size(0) == n, f"weight has {weight.size(0)} elements, a row {n}"
    if bias is not None:
        assert bias.size(0) == n, f"bias has {bias.size(0)} elements, a row {n}"
    out = torch.empty_like(x)
    mean = torch.empty([rows], dtype=torch.float32, device=x.device)
    rstd = torch.empty([rows], dtype=torch.float32, device=x.device)
    for tile_m in hl.tile(rows):
        row = x[tile_m, :].to(torch.float32)
        mu = row.sum(dim=-1) / n
        centred = row - mu[:, None]
        inv = torch.rsqrt((centred * centred).sum(dim=-1) / n + eps)
        scaled = centred * inv[:, None] * weight[:].to(torch.float32)
        if bias is not None:
            scaled = scaled + bias[:].to(torch.float32)
        out[tile_m, :] = scaled.to(x.dtype)
        mean[tile_m] = mu
        rstd[tile_m] = inv
    return out, mean, rstd


@helion.kernel()
def layer_norm_bwd(
    grad_out: torch.Tensor,
    x: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor,
    compute_bias_grad: hl.constexpr = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Gradients of x, weight and (if asked for) bias; the last two are summed by blocks of rows."""
    rows = x.size(0)
    n = hl.specialize(x.size(1))
    block_m = hl.register_block_size(rows)
    blocks = (rows + block_m - 1) // block_m
    grad_x = torch.empty_like(x)
    part_w = x.new_empty([blocks, n], dtype=torch.float32)
    part_b = x.new_empty([blocks, n], dtype=torch.float32)
    for tile_cta in hl.tile(rows, block_size=block_m):
        grad_w = weight.new_zeros(n, dtype=torch.float32)
        grad_b = weight.new_zeros(n, dtype=torch.float32)
        for tile_m in hl.tile(tile_cta.begin, tile_cta.end):
            grad = grad_out[tile_m, :].to(torch.float32)
            inv = rstd[tile_m].to(torch.float32)[:, None]
            normal = (x[tile_m, :].to(torch.float32) - mean[tile_m].to(torch.float32)[:, None]) * inv
            grad_w += (grad * normal).sum(dim=0)
            if compute_bias_grad:
                grad_b += grad.sum(dim=0)
            weighted = grad * weight[None, :].to(torch.float32)
            along = (weighted * normal).sum(dim=-1) / n
            level = weighted.sum(dim=-1) / n
            grad_x[tile_m, :] = ((weighted - normal * along[:, None] - level[:, None]) * inv).to(x.dtype)
        part_w[tile_cta.id, :] = grad_w
        if compute_bias_grad:
            part_b[tile_cta.id, :] = grad_b
    grad_weight = part_w.sum(0).to(weight.dtype)
    if compute_bias_grad:
        return grad_x, grad_weight, part_b.sum(0).to(weight.dtype)
    return grad_x, grad_weight, None
