# An assert of the kernel fails.
# ARGS: f32[8] f32[9]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = x.size(0)
    assert y.size(0) == n, f"sizes differ: {y.size(0)} != {n}"
    out = torch.empty_like(x)
    for tile in hl.tile(n):
        out[tile] = x[tile]
    return out
