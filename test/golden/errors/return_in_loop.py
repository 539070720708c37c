# A return stands in a device loop.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for i in hl.grid(x.size(0)):
        if x[i] > 0:
            return out
        out[i] = x[i] * 2
    return out
