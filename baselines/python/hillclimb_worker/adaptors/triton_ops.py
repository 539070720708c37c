"""Row kernels in Triton as its users write them: one program a row (or a slice), the row in one block. Our own text.

Triton's wheel ships no tutorials, so the well-known algorithms are written here: fused softmax, addition, layer_norm forward. The
warps of a program are searched by timing, and the best are recorded.
"""

import torch
import triton
import triton.language as tl

from . import Subject, Unsupported, choose

NAMES = {"triton": "row kernels in Triton"}
DEVICES = ("cuda", "cpu")  # on the CPU only under TRITON_INTERPRET=1, for tests
WARPS = (1, 2, 4, 8, 16)
BLOCKS = (1024, 2048, 4096, 8192)
LONGEST_ROW = 65536  # elements: a row has to fit into one block's registers


def version():
    """The package's version."""
    return triton.__version__


@triton.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    """Row `program_id(0)`: exponentials of the distances to the maximum, over their sum."""
    start = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    row = tl.load(x + start + at, mask=at < columns, other=-float("inf")).to(tl.float32)
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + at, (powers / tl.sum(powers, axis=0)).to(out.dtype.element_ty), mask=at < columns)


@triton.jit
def add_kernel(out, x, y, count, BLOCK: tl.constexpr):
    """A slice of the sum."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, mask=at < count).to(tl.float32) + tl.load(y + at, mask=at < count).to(tl.float32)
    tl.store(out + at, total.to(out.dtype.element_ty), mask=at < count)


@triton.jit
def layer_norm_kernel(out, x, weight, bias, columns, eps, BLOCK: tl.constexpr):
    """Row `program_id(0)`: mean and variance from the block that holds it."""
    start = tl.program_id(0).to(tl.int64) * columns
    at = tl.arange(0, BLOCK)
    inside = at < columns
    row = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, row - tl.sum(row, axis=0) / columns, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + start + at, (centred * scale * w + b).to(out.dtype.element_ty), mask=inside)


def row_block(x):
    """The block that holds a row."""
    columns = x.size(-1)
    if columns > LONGEST_ROW:
        raise Unsupported(f"a row of {columns} elements does not fit into one block; the longest is {LONGEST_ROW}")
    return triton.next_power_of_2(columns)


def softmax(x):
    """Launches by warps, and the output."""
    out, block, rows = torch.empty_like(x), row_block(x), x.numel() // x.size(-1)
    return out, {f"warps={w}": lambda w=w: softmax_kernel[(rows,)](out, x, x.size(-1), BLOCK=block, num_warps=w) for w in WARPS}


def add(x, y):
    """Launches by block, and the output."""
    out, n = torch.empty_like(x), x.numel()
    return out, {f"block={b}": lambda b=b: add_kernel[(triton.cdiv(n, b),)](out, x, y, n, BLOCK=b, num_warps=4) for b in BLOCKS}


def layer_norm(x, _shape, w, b, eps=1e-5):
    """Launches by warps, and the output."""
    out, block, rows = torch.empty_like(x), row_block(x), x.numel() // x.size(-1)
    return out, {
        f"warps={n}": lambda n=n: layer_norm_kernel[(rows,)](out, x, w, b, x.size(-1), eps, BLOCK=block, num_warps=n) for n in WARPS
    }


TABLE = {f.__name__: f for f in (softmax, add, layer_norm)}


def build(implementation, operation, args, options):
    """See the package. options: `config` pins one ({"config": "warps=8"})."""
    if operation not in TABLE:
        raise Unsupported(f"this adaptor has no `{operation}` in Triton; it has {', '.join(sorted(TABLE))}")
    out, launches = TABLE[operation](*args)
    best, search = choose(launches, options.get("config"), out.is_cuda)
    return Subject(launches[best], lambda: [out], f"triton {version()} {best}", {"config": best}, search=search)
