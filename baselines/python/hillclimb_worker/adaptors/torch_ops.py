"""PyTorch: eager, and torch.compile with static shapes (default and max-autotune)."""

import torch
import torch.nn.functional as F

from . import Subject, Unsupported, keep

NAMES = {
    "torch-eager": "PyTorch's own operators",
    "torch-compile": "torch.compile(dynamic=False)",
    "torch-compile-max": "torch.compile(mode='max-autotune-no-cudagraphs', dynamic=False)",
}
DEVICES = ("cuda", "cpu")


def version():
    """The framework's version."""
    return torch.__version__


def rms_norm_bwd(dy, x, w, rstd):
    """Formula of the gradient, for torch.compile."""
    normal = x.float() * rstd
    weighted = dy.float() * w.float()
    along = (weighted * normal).mean(-1, keepdim=True)
    return ((weighted - normal * along) * rstd).to(x.dtype), (dy.float() * normal).sum(0).to(w.dtype)


def layer_norm_bwd(dy, x, mean, rstd, w):
    """Formula of the gradients of x, weight and bias."""
    normal = (x.float() - mean[:, None]) * rstd[:, None]
    weighted = dy.float() * w.float()
    along = (weighted * normal).mean(-1, keepdim=True)
    level = weighted.mean(-1, keepdim=True)
    dx = ((weighted - level - normal * along) * rstd[:, None]).to(x.dtype)
    return dx, (dy.float() * normal).sum(0).to(w.dtype), dy.float().sum(0).to(w.dtype)


def softmax_bwd(dy, y):
    """Formula of the gradient."""
    product = dy.float() * y.float()
    return (product - y.float() * product.sum(-1, keepdim=True)).to(y.dtype)


def cross_entropy_grad(logits, labels):
    """Loss per row, and the gradient of its sum."""
    row = logits.float()
    log_probabilities = row - row.logsumexp(-1, keepdim=True)
    loss = -log_probabilities.gather(1, labels[:, None]).squeeze(1)
    columns = torch.arange(logits.size(1), device=logits.device)
    grad = log_probabilities.exp() - (columns[None, :] == labels[:, None]).to(torch.float32)
    return loss, grad.to(logits.dtype)


# What torch.compile gets; eager replaces a row where PyTorch has one operator for it.
FORMULAS = {
    "softmax": lambda x: F.softmax(x, -1),
    "softmax_bwd": softmax_bwd,
    "rms_norm": lambda x, w, eps=1e-5: F.rms_norm(x, (x.size(-1),), w, eps),
    "rms_norm_bwd": rms_norm_bwd,
    "layer_norm": lambda x, shape, w, b=None, eps=1e-5: F.layer_norm(x, shape, w, b, eps),
    "layer_norm_bwd": layer_norm_bwd,
    "cross_entropy": lambda x, t: F.cross_entropy(x, t, reduction="none"),
    "cross_entropy_grad": cross_entropy_grad,
    "sum": lambda x, dim=-1: x.sum(dim),
    "add": lambda x, y: x + y,
    "copy": lambda x: x.clone(),
    "swiglu": lambda a, b: F.silu(a) * b,
    "geglu": lambda a, b: F.gelu(a, approximate="tanh") * b,
    "exp": lambda x: x.exp(),
    "gemm_nn": lambda a, b: a @ b,
    "gemm_nt": lambda a, b: a @ b.t(),
    "attention": lambda q, k, v, causal=False: F.scaled_dot_product_attention(
        q, k, v, is_causal=bool(causal), enable_gqa=q.size(1) != k.size(1)
    ),
}
EAGER = {
    **FORMULAS,
    "softmax_bwd": lambda dy, y: torch._softmax_backward_data(dy, y, -1, y.dtype),
    "layer_norm_bwd": lambda dy, x, mean, rstd, w: torch.ops.aten.native_layer_norm_backward(
        dy, x, [x.size(-1)], mean[:, None], rstd[:, None], w, w, [True, True, True]
    ),
}


def build(implementation, operation, args, options):
    """See the package."""
    if operation.startswith("gemm"):
        torch.backends.cuda.matmul.allow_tf32 = True  # as the other products of f32 matrices here
    table = EAGER if implementation == "torch-eager" else FORMULAS
    if operation not in table:
        raise Unsupported(f"{implementation} has no operation `{operation}`; it has {', '.join(sorted(table))}")
    function = table[operation]
    config = None
    if implementation != "torch-eager":
        torch._dynamo.reset()
        mode = "max-autotune-no-cudagraphs" if implementation == "torch-compile-max" else "default"
        config = options.get("config") or {"mode": mode, "dynamic": False, "fullgraph": True}
        function = torch.compile(function, **config)
    launch, outputs = keep(lambda: function(*args))
    return Subject(launch, outputs, NAMES[implementation], config, again=lambda more: keep(lambda: function(*more)))
