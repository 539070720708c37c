# The sides of a branch give a name different shapes.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        if tile.begin < 4:
            v = hl.zeros([tile])
        else:
            v = hl.zeros([tile, 2])
        out[tile] = x[tile] + v.sum()
    return out
