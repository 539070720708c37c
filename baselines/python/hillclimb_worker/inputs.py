"""The inputs of docs/measurement.md as torch tensors: the same bits as the C++ generator's, made on the device."""

import re

import torch

DTYPES = {
    "bool": torch.bool,
    "u8": torch.uint8,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
MASK = 0xFFFFFFFF
CHUNK = 1 << 25  # elements drawn at once: about 2 GiB of 64-bit intermediates


class SpecError(ValueError):
    """A text that is not an argument."""


def parse(text):
    """A tensor's text as a dictionary, or a Python value. `bf16[4096,2560]@(1,4096)=uniform(-1,1)`, `3`, `0.5`, `None`, `true`."""
    text = text.strip()
    match = re.fullmatch(r"(\w+)\[([\d,\s]*)\](?:@\(([\d,\s-]*)\))?(?:=(.+))?", text)
    if match and match.group(1) in DTYPES:
        shape = [int(v) for v in match.group(2).split(",") if v.strip()]
        strides = [int(v) for v in match.group(3).split(",") if v.strip()] if match.group(3) is not None else None
        return {"dtype": match.group(1), "shape": shape, "strides": strides, "distribution": distribution(match.group(4))}
    simple = {"none": None, "true": True, "false": False}
    if text.lower() in simple:
        return simple[text.lower()]
    if re.fullmatch(r"\[[\d,\s-]*\]", text):
        return [int(v) for v in text[1:-1].split(",") if v.strip()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    raise SpecError(f"`{text}` is neither a tensor (`dtype[sizes]@(strides)=distribution`) nor a number, true, false, None or a list")


def distribution(text):
    """Kind and parameters."""
    if text is None:
        return None
    match = re.fullmatch(r"(\w+)(?:\(([^)]*)\))?", text.strip())
    kinds = {"normal": 0, "softmax_like": 0, "uniform": 2, "range": 2, "const": 1}
    if not match or match.group(1) not in kinds:
        raise SpecError(f"`{text}` is not a distribution: normal, uniform(a,b), range(a,b), const(v), softmax_like")
    values = [float(v) for v in (match.group(2) or "").split(",") if v.strip()]
    if len(values) != kinds[match.group(1)]:
        raise SpecError(f"`{match.group(1)}` takes {kinds[match.group(1)]} numbers, not {len(values)}")
    return (match.group(1), *values)


def philox_words(first, count, seed, stream, device):
    """Words of elements first..first+count-1 (first divisible by 4) as int64 in [0, 2^32)."""
    blocks = torch.arange(first // 4, first // 4 + (count + 3) // 4, dtype=torch.int64, device=device)
    c0, c1 = blocks & MASK, blocks >> 32
    c2 = torch.full_like(blocks, stream)
    c3 = torch.zeros_like(blocks)
    k0, k1 = seed & MASK, (seed >> 32) & MASK
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57  # wraps modulo 2^64; both halves are still exact
        c0, c1, c2, c3 = ((p1 >> 32) & MASK) ^ c1 ^ k0, p1 & MASK, ((p0 >> 32) & MASK) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return torch.stack([c0, c1, c2, c3], dim=1).reshape(-1)[:count]


def values(words, kind, dtype, last):
    """Elements from words, before the last conversion."""
    name = kind[0]
    if name == "normal":
        total = (words & 255) + ((words >> 8) & 255) + ((words >> 16) & 255) + (words >> 24)
        low = ((words * 0x9E3779B9) & MASK) >> 18
        t = (16384 * total + low - 8364032).to(torch.float32)
        return t * torch.tensor(float.fromhex("0x1.bb6854p-22"), dtype=torch.float32, device=words.device)
    if name == "uniform":
        low, high = (float(torch.tensor(v, dtype=torch.float32)) for v in kind[1:])
        span = float(torch.tensor(high - low, dtype=torch.float32))
        return (low + (span * 2.0**-24) * (words >> 8).to(torch.float64)).to(torch.float32)
    if name == "range":
        low, high = int(kind[1]), int(kind[2])
        return low + ((words * (high - low)) >> 32 if high - low < 1 << 31 else wide_range(words, high - low))
    if name == "softmax_like":
        u = ((words >> 16) + 1).to(torch.float64)
        return (u * u * u * (2.0**-46 / max(last, 1))).to(torch.float32)
    return torch.full_like(words, kind[1], dtype=torch.float64 if dtype.is_floating_point else torch.int64)


def wide_range(words, span):
    """floor(word * span / 2^32) for spans whose product needs more than 63 bits."""
    return (words * (span >> 16) + ((words * (span & 0xFFFF)) >> 16)) >> 16


def make(spec, seed, stream, device="cuda"):
    """A tensor of a parsed specification; `stream` is the parameter's position."""
    dtype = DTYPES[spec["dtype"]]
    shape = spec["shape"]
    strides = spec["strides"]
    if strides is None:
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
    span = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    kind = spec["distribution"]
    if kind is None:
        kind = ("normal",) if dtype.is_floating_point else ("range", 0, 2 if dtype is torch.bool else 100)
    flat = torch.empty(span, dtype=dtype, device=device)
    for first in range(0, span, CHUNK):
        count = min(CHUNK, span - first)
        words = philox_words(first, count, seed, stream, device)
        flat[first : first + count] = values(words, kind, dtype, shape[-1] if shape else 1).to(dtype)
    return flat.as_strided(shape, strides) if span else flat.reshape(shape)
