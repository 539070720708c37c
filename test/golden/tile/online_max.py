# Values carried through a loop over a registered block.
# ARGS: f16[16,100]
# BLOCKS: block_n=64 tile_m=8
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    m, n = x.size()
    out = torch.empty_like(x)
    block_n = hl.register_block_size(n)
    for tile_m in hl.tile(m):
        peak = hl.full([tile_m], float("-inf"), dtype=torch.float32)
        for tile_n in hl.tile(n, block_size=block_n):
            peak = torch.maximum(peak, torch.amax(x[tile_m, tile_n], dim=1))
        for tile_n in hl.tile(n, block_size=block_n):
            out[tile_m, tile_n] = x[tile_m, tile_n] - peak[:, None]
    return out
