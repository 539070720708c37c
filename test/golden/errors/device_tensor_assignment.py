# A part of a device value is assigned.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        tmp = x[tile] * 2
        tmp[0] = 1
        out[tile] = tmp
    return out
