# Host broadcasting, an N-d tile, promotion.
# ARGS: f32[6,10] f16[10]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = torch.broadcast_tensors(x, y)
    out = torch.empty(x.shape, dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for tile in hl.tile(out.size()):
        out[tile] = x[tile] + y[tile]
    return out
