# The same tile in two indices runs lane by lane.
# ARGS: f32[8,20] i64[8]=range(0,20)
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    out = torch.empty([8], dtype=x.dtype, device=x.device)
    for tile in hl.tile(8):
        out[tile] = x[tile, labels[tile]]
    return out
