# Types without a common type.
# ARGS: f32[8] f8e4m3[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] + y[tile]
    return out
