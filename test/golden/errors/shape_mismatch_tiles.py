# Two different tiles stand at the same place.
# ARGS: f32[32,64]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([32, 64]):
        out[tile_m, tile_n] = x[tile_m, 0] + x[0, tile_n]
    return out
