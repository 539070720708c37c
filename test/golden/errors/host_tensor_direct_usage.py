# A 0-d host tensor is used without a load.
# ARGS: f32[8,8] f32[]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.shape):
        out[tile] = x[tile] * scale
    return out
