# A tile bounds another tile.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        for inner in hl.tile(tile):
            out[inner] = x[inner] + 1
    return out
