# A bool mask is an index.
# ARGS: f32[8,8] bool[8,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile(x.shape):
        out[tile_m, tile_n] = x[mask].sum()
    return out
