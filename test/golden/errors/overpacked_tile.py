# An N-d tile stands beside another index.
# ARGS: f32[8,8,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile([8, 8]):
        out[tile, :] = x[tile, :]
    return out
