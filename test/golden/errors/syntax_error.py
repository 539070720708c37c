# The file is not Python.
# ARGS: f32[8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x
    return out
