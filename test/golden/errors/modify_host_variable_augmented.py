# A host tensor is added to without a subscript.
# ARGS: f32[64,32]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros([32], dtype=torch.float32, device=x.device)
    for tile in hl.tile(x.size(0)):
        total += torch.sum(x[tile, :], dim=0)
    return total
