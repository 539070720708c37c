# The kernel has only host maths.
# ARGS: f32[8] f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y
