"""One module per framework. Each offers NAMES (implementation -> what it is), version(), and build(implementation, operation, args).

build() returns a Subject: `launch` queues one whole call on the current stream, `outputs()` gives the tensors that the last
launch wrote, `detail` is the recipe. What a framework does not have raises Unsupported with the reason.
"""

import importlib

MODULES = ("torch_ops", "quack_ops", "liger_ops", "cudnn_ops", "helion_ops", "cubin_ops")


class Unsupported(RuntimeError):
    """The framework, or this machine's version of it, does not have the operation."""


class Subject:
    """Something to be measured."""

    def __init__(self, launch, outputs, detail="", config=None):
        self.launch = launch
        self.outputs = outputs
        self.detail = detail
        self.config = config


def keep(function):
    """A subject whose outputs are the return value of `function`."""
    state = {}

    def launch():
        state["out"] = function()

    def outputs():
        out = state["out"]
        return [t for t in (out if isinstance(out, (tuple, list)) else (out,)) if t is not None]

    return launch, outputs


def find(implementation):
    """The module that offers this implementation."""
    for name in MODULES:
        module = importlib.import_module("." + name, __package__)
        if implementation in module.NAMES:
            return module
    raise Unsupported(f"there is no implementation `{implementation}`; there are {', '.join(sorted(all_names()))}")


def all_names():
    """Every implementation's name, whether its package is installed or not."""
    return {n: m for m in MODULES for n in importlib.import_module("." + m, __package__).NAMES}
