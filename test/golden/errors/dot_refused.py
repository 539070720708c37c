# Products are refused by name.
# ARGS: f32[8,8] f32[8,8]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([8, 8]):
        out[tile_m, tile_n] = hl.dot(x[tile_m, :], y[:, tile_n])
    return out
