"""Small kernels, each about one feature that the shipped ones leave out."""

import helion
import helion.language as hl
import torch


@helion.kernel()
def positions(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """argmax and argmin of rows."""
    rows, _ = x.size()
    high = torch.empty([rows], dtype=torch.int64, device=x.device)
    low = torch.empty([rows], dtype=torch.int64, device=x.device)
    for tile in hl.tile(rows):
        high[tile] = torch.argmax(x[tile, :], dim=-1)
        low[tile] = torch.argmin(x[tile, :], dim=-1)
    return high, low


@helion.kernel()
def column_positions(x: torch.Tensor) -> torch.Tensor:
    """argmax of columns."""
    rows, columns = x.size()
    high = torch.empty([columns], dtype=torch.int64, device=x.device)
    for tile in hl.tile(columns):
        high[tile] = torch.argmax(x[:, tile], dim=0)
    return high


@helion.kernel()
def columns(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sum, maximum and product of columns."""
    rows, n = x.size()
    total = torch.empty([n], dtype=x.dtype, device=x.device)
    top = torch.empty([n], dtype=x.dtype, device=x.device)
    product = torch.empty([n], dtype=x.dtype, device=x.device)
    for tile in hl.tile(n):
        part = x[:, tile]
        total[tile] = part.sum(0)
        top[tile] = part.amax(0)
        product[tile] = part.prod(0)
    return total, top, product


@helion.kernel()
def columns_by_blocks(x: torch.Tensor) -> torch.Tensor:
    """Sums of columns, rows in blocks, all columns at once."""
    rows, n = x.size()
    out = torch.empty([n], dtype=torch.float32, device=x.device)
    for once in hl.grid(1):
        total = hl.zeros([n], dtype=torch.float32)
        for tile in hl.tile(rows):
            total = total + x[tile, :].to(torch.float32).sum(0)
        out[:] = total
    return out


@helion.kernel()
def truths(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """any, all and a compare stored as bools."""
    rows, n = x.size()
    some = torch.empty([rows], dtype=torch.bool, device=x.device)
    every = torch.empty([rows], dtype=torch.bool, device=x.device)
    above = torch.empty([rows, n], dtype=torch.bool, device=x.device)
    for tile in hl.tile(rows):
        part = x[tile, :]
        some[tile] = (part > 1.5).any(dim=1)
        every[tile] = (part > -1.5).all(dim=1)
        above[tile, :] = part > 0.0
    return some, every, above


@helion.kernel()
def transposed(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x plus y transposed."""
    m, n = x.size()
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([m, n]):
        out[tile_m, tile_n] = x[tile_m, tile_n] + y[tile_n, tile_m].T
    return out


@helion.kernel()
def shifted(x: torch.Tensor) -> torch.Tensor:
    """Each element minus its left neighbour; the first column keeps its value."""
    m, n = x.size()
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([m, n]):
        left = hl.load(x, [tile_m, tile_n.index - 1], extra_mask=(tile_n.index > 0)[None, :])
        out[tile_m, tile_n] = x[tile_m, tile_n] - left
    return out


@helion.kernel()
def in_place(x: torch.Tensor) -> torch.Tensor:
    """Scales the rows of its argument to their largest magnitude, in two steps through memory."""
    m, n = x.size()
    for tile_m in hl.tile(m):
        x[tile_m, :] = x[tile_m, :] * 2.0
        top = torch.abs(x[tile_m, :]).amax(dim=1)
        x[tile_m, :] = x[tile_m, :] / top[:, None]
    return x


@helion.kernel()
def integers(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Integer arithmetic with quotients, shifts and bits."""
    out = torch.empty_like(x)
    for tile in hl.tile(x.size()):
        a = x[tile]
        b = y[tile] + 1
        out[tile] = (a // b) * 3 + (a % b) - ((a << 2) ^ (b >> 1)) + (a & b) * (a | b)
    return out


@helion.kernel()
def branches(x: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    """Rows are summed, or their squares are, as a loaded number says."""
    m, n = x.size()
    out = torch.empty([m], dtype=torch.float32, device=x.device)
    for row in hl.grid(m):
        value = hl.zeros([], dtype=torch.float32)
        if limit[row] > 0.0:
            value = x[row, :].sum(0)
        else:
            value = (x[row, :] * x[row, :]).sum(0)
        out[row] = value
    return out


@helion.kernel()
def swaps(x: torch.Tensor) -> torch.Tensor:
    """Two carried rows change places in each step."""
    m, n = x.size()
    out = torch.empty([2, n], dtype=torch.float32, device=x.device)
    for tile_n in hl.tile(n):
        a = hl.zeros([tile_n], dtype=torch.float32)
        b = hl.full([tile_n], 1.0, dtype=torch.float32)
        for row in hl.grid(m):
            c = a + b * x[row, tile_n]
            a = b
            b = c
        out[0, tile_n] = a
        out[1, tile_n] = b
    return out


@helion.kernel()
def outer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Sums of exp(x_i - y_j) over i, with the quotient by the largest."""
    m = x.size(0)
    n = y.size(0)
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        out[tile_m, tile_n] = torch.exp(x[tile_m][:, None] - y[tile_n][None, :])
    return out


@helion.kernel()
def folded(x: torch.Tensor) -> torch.Tensor:
    """Rows of 2k elements as k pairs: (first - second) of the halves, and back side by side."""
    m, n = x.size()
    n = hl.specialize(n)
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        halves = x[tile, :].reshape(tile, 2, n // 2).permute(0, 2, 1)
        first, second = hl.split(halves)
        both = hl.join(first - second, first + second)
        out[tile, :] = both.permute(0, 2, 1).reshape(tile, n)
    return out


@helion.kernel()
def cube(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the middle dimension."""
    a, b, c = x.size()
    out = torch.empty_like(x)
    for tile_a, tile_c in hl.tile([a, c]):
        part = x[tile_a, :, tile_c]
        power = torch.exp(part - part.amax(dim=1, keepdim=True))
        out[tile_a, :, tile_c] = power / power.sum(dim=1, keepdim=True)
    return out


@helion.kernel()
def noise(x: torch.Tensor, seed: int) -> torch.Tensor:
    """Random numbers by position."""
    m, n = x.size()
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([m, n]):
        out[tile_m, tile_n] = x[tile_m, tile_n] + hl.rand([tile_m, tile_n], seed=seed)
    return out
