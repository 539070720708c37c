"""One module per framework. Each offers NAMES (implementation -> what it is), version(), and build(implementation, operation, args).

build() returns a Subject: `launch` queues one whole call on the current stream, `outputs()` gives the tensors that the last
launch wrote, `detail` is the recipe. What a framework does not have raises Unsupported with the reason.
"""

import importlib

# Module and package by implementation: what is missing can be named without importing any framework.
IMPLEMENTATIONS = {
    "torch-eager": ("torch_ops", "torch"),
    "torch-compile": ("torch_ops", "torch"),
    "torch-compile-max": ("torch_ops", "torch"),
    "quack": ("quack_ops", "quack-kernels"),
    "liger": ("liger_ops", "liger-kernel"),
    "cudnn": ("cudnn_ops", "nvidia-cudnn-frontend"),
    "triton": ("triton_ops", "triton"),
    "flash-attention-4": ("flash_ops", "flash-attn-4"),
    "helion-triton": ("helion_ops", "helion"),
    "helion-cute": ("helion_ops", "helion"),
    "cubin": ("cubin_ops", "torch"),
}


class Unsupported(RuntimeError):
    """The framework, or this machine's version of it, does not have the operation."""


class Subject:
    """Something to be measured."""

    def __init__(self, launch, outputs, detail="", config=None, tune=None):
        self.launch = launch
        self.outputs = outputs
        self.detail = detail
        self.config = config
        self.tune = tune  # what the framework's own tuner did: cold, full, seconds, ...


def keep(function):
    """A subject whose outputs are the return value of `function`."""
    state = {}

    def launch():
        state["out"] = function()

    def outputs():
        out = state["out"]
        return [t for t in (out if isinstance(out, (tuple, list)) else (out,)) if t is not None]

    return launch, outputs


def module_of(implementation):
    """The module that offers this implementation; ImportError when its framework is not installed."""
    if implementation not in IMPLEMENTATIONS:
        raise Unsupported(f"there is no implementation `{implementation}`; there are {', '.join(sorted(IMPLEMENTATIONS))}")
    return importlib.import_module("." + IMPLEMENTATIONS[implementation][0], __package__)


def help_for(implementation):
    """How to get what an implementation needs."""
    return f"pip install {IMPLEMENTATIONS[implementation][1]}"


def devices_of(module):
    """Where a module's implementations run."""
    return getattr(module, "DEVICES", ("cuda",))
