# The loop stores nothing.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for tile in hl.tile(x.size(0)):
        unused = x[tile] * 2
    return out
