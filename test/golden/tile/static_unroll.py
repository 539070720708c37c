# Loops over tuples and static ranges are unrolled; a range is a serial loop.
# ARGS: f32[8,4] f32[8,4]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty([8], dtype=x.dtype, device=x.device)
    for tile in hl.tile(8):
        acc = hl.zeros([tile])
        for t in (x, y):
            for k in hl.static_range(2):
                acc = acc + t[tile, k] * (k + 1)
        for k in range(2, 4):
            acc += x[tile, k]
        out[tile] = acc
    return out
