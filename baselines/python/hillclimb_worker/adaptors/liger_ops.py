"""Liger's Triton kernels through their autograd functions, forward only."""

from . import Subject, Unsupported, keep

NAMES = {"liger": "Liger (Triton)"}


def version():
    """The package's version."""
    from importlib.metadata import version as of

    return of("liger-kernel")


def softmax(x):
    """Rows up to 65536 columns: one block holds a row."""
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return keep(lambda: LigerSoftmaxFunction.apply(x))


def rms_norm(x, w, eps=1e-5):
    """Llama's casting."""
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    return keep(lambda: LigerRMSNormFunction.apply(x, w, eps, 0.0, "llama", False))


def layer_norm(x, _shape, w, b, eps=1e-5):
    """Forward."""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    return keep(lambda: LigerLayerNormFunction.apply(x, w, b, eps))


def swiglu(a, b):
    """silu(a) * b."""
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    return keep(lambda: LigerSiLUMulFunction.apply(a, b))


def geglu(a, b):
    """gelu(a) * b, tanh form."""
    from liger_kernel.ops.geglu import LigerGELUMulFunction

    return keep(lambda: LigerGELUMulFunction.apply(a, b))


def settings(columns):
    """Block and warps that Liger chooses for a row of so many columns; its version fixes them."""
    from liger_kernel.ops.utils import calculate_settings

    block, warps = calculate_settings(columns)
    return {"BLOCK_SIZE": block, "num_warps": warps}


TABLE = {f.__name__: f for f in (softmax, rms_norm, layer_norm, swiglu, geglu)}


def build(implementation, operation, args, options):
    """See the package."""
    if operation not in TABLE:
        raise Unsupported(f"this adaptor has no `{operation}` of Liger's; it has {', '.join(sorted(TABLE))}")
    launch, outputs = TABLE[operation](*args)
    return Subject(launch, outputs, f"liger-kernel {version()}", settings(args[0].shape[-1]))
