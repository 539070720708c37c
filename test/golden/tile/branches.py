# Static branches are chosen, dynamic ones become if_else.
# ARGS: f32[8,20] None 0.5
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, bias: torch.Tensor | None, beta: float) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile(x.size()):
        v = x[tile_m, tile_n]
        if bias is not None and undefined_here:
            v = v + bias[tile_n]
        elif beta != 0.0:
            v = v * beta
        if tile_n.begin > 4:
            v = v + 1
        else:
            w = v * 2
            v = w - tile_n.id
        out[tile_m, tile_n] = v
    return out
