"""Sums of very long rows: in one piece, and by blocks of columns."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def longsum(x: torch.Tensor) -> torch.Tensor:
    """x: [rows, columns] to [rows]; how a row is cut is the config's affair."""
    rows, _ = x.size()
    out = torch.empty([rows], dtype=x.dtype, device=x.device)
    for tile_m in hl.tile(rows):
        out[tile_m] = torch.sum(x[tile_m, :], dim=-1)
    return out


@helion.kernel()
def longsum_manual(x: torch.Tensor) -> torch.Tensor:
    """Blocks of columns are added lane by lane; the lanes are summed once at the end."""
    rows, columns = x.size()
    out = torch.empty([rows], dtype=x.dtype, device=x.device)
    block_n = hl.register_block_size(columns)
    for tile_m in hl.tile(rows):
        lanes = hl.zeros([tile_m, block_n], dtype=x.dtype)
        for tile_n in hl.tile(columns, block_size=block_n):
            lanes += x[tile_m, tile_n]
        out[tile_m] = lanes.sum(-1)
    return out
