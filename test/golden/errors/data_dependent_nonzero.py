# nonzero has a shape that depends on data.
# ARGS: f32[8,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile(x.shape):
        out[tile_m, tile_n] = torch.nonzero(x).size(0)
    return out
