# A loop changes the dtype of what it carries.
# ARGS: f16[8,64]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([8], dtype=torch.float32, device=x.device)
    for tile_m in hl.tile(x.size(0)):
        acc = hl.zeros([tile_m], dtype=torch.float16)
        for tile_n in hl.tile(x.size(1)):
            acc += x[tile_m, tile_n].to(torch.float32).sum(1)
        out[tile_m] = acc
    return out
