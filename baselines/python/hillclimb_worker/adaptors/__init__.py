"""One module per framework. Each offers NAMES (implementation -> what it is), version(), and build(implementation, operation, args).

build() returns a Subject: `launch` queues one whole call on the current stream, `outputs()` gives the tensors that the last
launch wrote, `detail` is the recipe. What a framework does not have raises Unsupported with the reason.
"""

import importlib

# Module and package by implementation: what is missing can be named without importing any framework. The versions are those of
# scripts/device/peers.txt, which were seen to work together.
IMPLEMENTATIONS = {
    "torch-eager": ("torch_ops", "torch==2.11.0"),
    "torch-compile": ("torch_ops", "torch==2.11.0"),
    "torch-compile-max": ("torch_ops", "torch==2.11.0"),
    "quack": ("quack_ops", "quack-kernels==0.6.5"),
    "liger": ("liger_ops", "liger-kernel==0.8.5"),
    "cudnn": ("cudnn_ops", "nvidia-cudnn-frontend==1.17.0"),
    "triton": ("triton_ops", "triton==3.6.0"),
    "flash-attention-4": ("flash_ops", "flash-attn-4==4.0.0b36"),
    "helion-triton": ("helion_ops", "helion==1.4.0"),
    "helion-cute": ("helion_ops", "helion==1.4.0"),
    "cubin": ("cubin_ops", "torch==2.11.0"),
}


class Unsupported(RuntimeError):
    """The framework, or this machine's version of it, does not have the operation."""


class Subject:
    """Something to be measured."""

    def __init__(self, launch, outputs, detail="", config=None, tune=None, search=None, again=None, source=None):
        self.launch = launch
        self.outputs = outputs
        self.detail = detail
        self.config = config
        self.tune = tune  # what the framework's own tuner did: cold, full, seconds, ...
        self.search = search  # what our search among the ways did; it differs from process to process, so no part of `config`
        self.again = again  # launch and outputs of the same on other arguments; None: build() with `config` makes them
        self.source = source  # gives the generated Python source that runs, as text; None where there is none


def keep(function):
    """A subject whose outputs are the return value of `function`."""
    state = {}

    def launch():
        state["out"] = function()

    def outputs():
        out = state["out"]
        return [t for t in (out if isinstance(out, (tuple, list)) else (out,)) if t is not None]

    return launch, outputs


def milliseconds(launch, repetitions=20):
    """Least time of a few launches between events, with the caches emptied by reading before each."""
    import torch

    flush = torch.ones(1 << 27, device="cuda", dtype=torch.int8)
    least = float("inf")
    for _ in range(repetitions):
        flush.sum()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        launch()
        end.record()
        end.synchronize()
        least = min(least, begin.elapsed_time(end))
    return least


def choose(launches, pinned, timed):
    """The way to take and what the search found: the pinned one, else the fastest where they can be timed, else the first.

    `pinned` is a config as build() reported it, or None. A way that cannot be launched is left out with its error.
    """
    name = pinned.get("config") if isinstance(pinned, dict) else pinned
    if name is not None:
        if name not in launches:
            raise Unsupported(f"there is no config {name!r}; there are {', '.join(launches)}")
        return name, None
    if not timed or len(launches) == 1:
        return next(iter(launches)), None
    times, left_out, last = {}, {}, None
    for way, launch in launches.items():
        try:
            launch()
            times[way] = milliseconds(launch)
        except Exception as error:
            left_out[way], last = f"{type(error).__name__}: {error}"[:300], error
    if not times:
        raise last
    return min(times, key=times.get), {"milliseconds": times, "left_out": left_out}


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
