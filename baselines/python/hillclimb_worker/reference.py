"""Independent float64 answers on sampled rows, for the check of a worker's outputs on the device."""

import torch


def rows_of(x, rows):
    """The rows in float64."""
    return x[rows].double()


def softmax(rows, x):
    """By the definition, with the maximum taken out."""
    r = rows_of(x, rows)
    e = (r - r.amax(-1, keepdim=True)).exp()
    return [e / e.sum(-1, keepdim=True)]


def softmax_bwd(rows, dy, y):
    """y * (dy - sum(y dy))."""
    g, p = rows_of(dy, rows), rows_of(y, rows)
    return [p * (g - (g * p).sum(-1, keepdim=True))]


def rms_norm(rows, x, w, eps=1e-5):
    """x / sqrt(mean(x^2) + eps) * w."""
    r = rows_of(x, rows)
    return [r * ((r * r).mean(-1, keepdim=True) + eps).rsqrt() * w.double()]


def layer_norm(rows, x, _shape, w, b=None, eps=1e-5):
    """(x - mean) / std * w + b."""
    r = rows_of(x, rows)
    c = r - r.mean(-1, keepdim=True)
    out = c * ((c * c).mean(-1, keepdim=True) + eps).rsqrt() * w.double()
    return [out if b is None else out + b.double()]


def rms_norm_bwd(rows, dy, x, w, rstd):
    """Gradient of x."""
    s = rows_of(rstd.reshape(-1, 1), rows)
    normal, weighted = rows_of(x, rows) * s, rows_of(dy, rows) * w.double()
    return [(weighted - normal * (weighted * normal).mean(-1, keepdim=True)) * s]


def layer_norm_bwd(rows, dy, x, mean, rstd, w):
    """Gradient of x."""
    s = rows_of(rstd.reshape(-1, 1), rows)
    normal = (rows_of(x, rows) - rows_of(mean.reshape(-1, 1), rows)) * s
    weighted = rows_of(dy, rows) * w.double()
    level = weighted.mean(-1, keepdim=True)
    return [(weighted - level - normal * (weighted * normal).mean(-1, keepdim=True)) * s]


def cross_entropy(rows, x, t):
    """log(sum(exp)) minus the target's logit."""
    r = rows_of(x, rows)
    return [r.logsumexp(-1) - r.gather(1, t[rows].long()[:, None]).squeeze(1)]


def cross_entropy_grad(rows, x, t):
    """Loss, and softmax minus the target's one."""
    r = rows_of(x, rows)
    grad = r.softmax(-1)
    grad[torch.arange(len(rows), device=x.device), t[rows].long()] -= 1
    return [cross_entropy(rows, x, t)[0], grad]


def attention(rows, q, k, v, causal=False):
    """Batches `rows`, the first and the last head only: softmax(q k' / sqrt(width)) v."""
    heads = [0, q.size(1) - 1]
    group = q.size(1) // k.size(1)
    r = q[rows][:, heads].double()
    keys, values = k[rows][:, [h // group for h in heads]].double(), v[rows][:, [h // group for h in heads]].double()
    out = torch.empty_like(r)
    length = q.size(2)
    for first in range(0, length, 1024):  # a block of the queries at a time: the scores are large
        scores = r[:, :, first : first + 1024] @ keys.transpose(-1, -2) / q.size(-1) ** 0.5
        if causal:
            below = torch.arange(first, min(first + 1024, length), device=q.device)[:, None] >= torch.arange(length, device=q.device)
            scores = scores.masked_fill(~below, -float("inf"))
        out[:, :, first : first + 1024] = scores.softmax(-1) @ values
    return [out]


REDUCED = {"sum": lambda rows, x, dim=-1: [rows_of(x, rows).sum(-1)] if dim in (-1, 1) else [x[:, rows].double().sum(0)]}
TABLE = {
    "softmax": softmax,
    "softmax_bwd": softmax_bwd,
    "rms_norm": rms_norm,
    "rms_norm_bwd": rms_norm_bwd,
    "layer_norm": layer_norm,
    "layer_norm_bwd": layer_norm_bwd,
    "cross_entropy": cross_entropy,
    "cross_entropy_grad": cross_entropy_grad,
    "sum": REDUCED["sum"],
    "copy": lambda rows, x: [rows_of(x, rows)],
    "add": lambda rows, x, y: [rows_of(x, rows) + rows_of(y, rows)],
    "swiglu": lambda rows, a, b: [rows_of(a, rows) * rows_of(a, rows).sigmoid() * rows_of(b, rows)],
    "geglu": lambda rows, a, b: [
        torch.nn.functional.gelu(rows_of(a, rows), approximate="tanh") * rows_of(b, rows)
    ],
    "exp": lambda rows, x: [rows_of(x, rows).exp()],
    "gemm_nn": lambda rows, a, b: [rows_of(a, rows) @ b.double()],
    "gemm_nt": lambda rows, a, b: [rows_of(a, rows) @ b.double().t()],
    "attention": attention,
}
# Half an ulp of the output's dtype, and what float32 arithmetic over long rows may add.
TOLERANCE = {torch.bfloat16: 2.0**-7, torch.float16: 2.0**-9, torch.float32: 2.0**-16, torch.float64: 2.0**-40}


def compare(operation, args, outputs, seed=0, count=48):
    """Worst error relative to the largest value of its row, per output; `wrong` counts rows beyond the dtype's tolerance."""
    if operation not in TABLE:
        return {"reference": None}
    length = outputs[0].shape[0]
    generator = torch.Generator().manual_seed(seed)
    picked = torch.randint(0, length, (min(count, length),), generator=generator)
    picked[0], picked[-1] = 0, length - 1
    picked = picked.to(outputs[0].device)
    wanted = TABLE[operation](picked, *args)
    worst, wrong, nonfinite = 0.0, 0, 0
    for want, got in zip(wanted, outputs):
        have = (got[picked][:, [0, got.size(1) - 1]] if operation == "attention" else got[picked]).double()
        nonfinite += int((~have.isfinite()).sum())
        flat = len(have.shape) == 1
        scale = want.abs().amax() if flat else want.abs().amax(-1, keepdim=True)
        error = (have - want).abs() / scale.clamp_min(1e-30)
        error = torch.where(error.isnan(), torch.full_like(error, float("inf")), error)
        worst = max(worst, float(error.max()))
        allowed = TOLERANCE[torch.float16] if operation.startswith("gemm") else 0  # f32 matrices may be rounded to tf32
        wrong += int((error > max(TOLERANCE[got.dtype], allowed)).sum())
    return {"reference": "float64", "rows": len(picked), "worst_error": worst, "wrong": wrong, "nonfinite": nonfinite}
