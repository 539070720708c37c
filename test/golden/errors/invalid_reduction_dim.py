# The dimension is out of range.
# ARGS: f32[8,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([8])
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile, :].sum(dim=2)
    return out
