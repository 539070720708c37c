# A nested tile, a partial buffer by tile.id, and host maths after the loop.
# ARGS: bf16[30,12]
import torch

import helion
import helion.language as hl


@helion.kernel()
def fn(x: torch.Tensor) -> torch.Tensor:
    block = hl.register_block_size(x.size(0))
    partial = x.new_empty([(x.size(0) + block - 1) // block, *x.shape[1:]], dtype=torch.float32)
    for outer in hl.tile(x.size(0), block_size=block):
        acc = x.new_zeros(x.size(1), dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc += x[inner, :].to(torch.float32).sum(0)
        partial[outer.id, :] = acc
    return partial.sum(0).to(x.dtype)
