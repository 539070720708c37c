"""FlashAttention 4: attention forward on [batch, heads, length, width] tensors, which it wants with heads and length exchanged."""

import importlib

from . import Subject, Unsupported, keep

NAMES = {"flash-attention-4": "FlashAttention 4 (CuTe DSL)"}


def version():
    """The package's version; the import shows whether it works here."""
    from importlib.metadata import version as of

    importlib.import_module("flash_attn.cute.interface")
    return of("flash-attn-4")


def first_of(value):
    """The output, where a call returns statistics as well."""
    return value[0] if isinstance(value, (tuple, list)) else value


def build(implementation, operation, args, options):
    """attention(q, k, v, causal). The exchange of dimensions is not timed; the output is shown in the order of the inputs."""
    if operation != "attention":
        raise Unsupported(f"FlashAttention has attention, not `{operation}`")
    interface = importlib.import_module("flash_attn.cute.interface")
    causal = bool(args[3]) if len(args) > 3 else False
    q, k, v = (t.transpose(1, 2).contiguous() for t in args[:3])
    launch, outputs = keep(lambda: first_of(interface.flash_attn_func(q, k, v, causal=causal)))
    return Subject(launch, lambda: [outputs()[0].transpose(1, 2)], f"flash-attn-4 {version()}", {"causal": causal})
