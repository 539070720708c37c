# reshape, permute, split and join.
# ARGS: f16[4,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        pair = x[tile, :].reshape([tile, 2, n // 2]).permute(0, 2, 1)
        a, b = hl.split(pair)
        out[tile, :] = hl.join(-b, a).permute(0, 2, 1).reshape([tile, n])
    return out
