# Two top-level loops and a grid.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    y = torch.empty([8, 2], dtype=x.dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile]
    hl.barrier()
    for i, j in hl.grid([8, 2]):
        y[i, j] = out[i] * j
    return y
