# Two extents are passed as begin and end.
# ARGS: f32[2,3,4]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    b, s, h = x.size()
    out = x.new_empty(b, h)
    for tile_b, tile_h in hl.tile(b, h):
        out[tile_b, tile_h] = x[tile_b, :, tile_h].sum(1)
    return out
