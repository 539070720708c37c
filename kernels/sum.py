"""Sum over the last dimension."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def sum_kernel(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, columns] to [rows], in x's dtype."""
    rows, _ = x.shape
    out = torch.empty([rows], dtype=x.dtype, device=x.device)
    for tile_m in hl.tile(rows):
        out[tile_m] = x[tile_m, :].sum(-1)
    return out
