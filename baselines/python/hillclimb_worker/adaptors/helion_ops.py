"""Helion in Python: the user's own kernel file, unchanged, with its triton or cute backend, tuned by its own tuner or pinned."""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time

from . import Subject, Unsupported, keep

SOURCES = True  # an edited generated source can be run in its place
NAMES = {"helion-triton": "Helion, triton backend", "helion-cute": "Helion, cute backend"}


def version():
    """The package's version."""
    from importlib.metadata import version as of

    return of("helion")


def load(path, name="hillclimb_candidate"):
    """The module of a file, by path; Triton and CuTe look their functions' text up by it."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def edited(path, name):
    """The function of a generated source that somebody edited: it keeps the kernel's name and arguments."""
    function = getattr(load(path, "hillclimb_edited"), name, None)
    if not callable(function):
        raise Unsupported(f"the source {path} has no function `{name}`; keep the one of the generated source")
    return function


def kernel_of(where):
    """`FILE.py:name`, or the only kernel of `FILE.py`."""
    import helion

    path, colon, name = where.rpartition(":")
    module = load(path if colon else where)
    kernels = {n: k for n, k in vars(module).items() if isinstance(k, helion.Kernel)}
    if not colon and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name not in kernels:
        raise Unsupported(f"`{where}` does not name a Helion kernel; the file has {', '.join(sorted(kernels)) or 'none'}")
    return kernels[name]


def settings_for(tune_s, wanted):
    """Variables of Helion's tuner: its limit, and a cache of its own so that nothing is remembered."""
    fresh = tempfile.mkdtemp(prefix="hillclimb-cold-")
    settings = {
        "HELION_SKIP_CACHE": "1",
        "HELION_CACHE_DIR": os.path.join(fresh, "helion"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(fresh, "inductor"),
        "TRITON_CACHE_DIR": os.path.join(fresh, "triton"),
    }
    if tune_s:
        settings["HELION_AUTOTUNE_BUDGET_SECONDS"] = str(max(1, int(tune_s)))
    settings.update({name: str(value) for name, value in wanted.items()})
    return settings


def tune(bound, args, tune_s, lesser):
    """Helion's own search; it is full when neither the limit nor a lesser effort cut it short."""
    start = time.monotonic()
    config = bound.autotune(tuple(args))
    seconds = time.monotonic() - start
    return config, {"cold": True, "full": not lesser and (not tune_s or seconds < tune_s), "seconds": seconds}


def build(implementation, operation, args, options):
    """The kernel is `kernel` (or `operation`, as FILE.py:name). `config` pins one; otherwise `tune_s` limits Helion's tuner, 0 is
    no limit; `untuned` takes Helion's default config, for a check that times nothing. `environment` is a table of further
    variables for the tuner, such as HELION_AUTOTUNE_EFFORT."""
    where = operation if ".py" in operation else options.get("kernel") or ""
    pinned, tune_s = options.get("config"), options.get("tune_s")
    wanted = options.get("environment") or {}
    inherited = any(name.startswith("HELION_AUTOTUNE") for name in os.environ)  # of whoever started us: no full search either
    untuned = bool(options.get("untuned")) and not pinned and tune_s is None
    if not pinned and tune_s is None and not untuned:
        raise Unsupported("Helion runs with a config or after a search: give `config` or `tune_s`")
    # The backend is read when helion is imported: one backend per process, as every number here is one config per process.
    os.environ["HELION_BACKEND"] = implementation.split("-")[1]
    if not pinned:
        os.environ.update(settings_for(tune_s or 0, wanted))
    import helion

    bound = kernel_of(where).bind(tuple(args))
    report = None
    if pinned:
        config = helion.Config.from_json(json.dumps(pinned))
    elif untuned:
        config = bound.config_spec.default_config()
    else:
        config, report = tune(bound, args, tune_s, bool(wanted) or inherited)
    bound.set_config(config)
    function, source = bound, lambda: bound.to_triton_code(config)
    detail = f"helion {version()} {os.environ['HELION_BACKEND']}"
    if options.get("source"):
        function, source = edited(options["source"], bound.kernel.name), pathlib.Path(options["source"]).read_text
        detail += ", an edited source"
    launch, outputs = keep(lambda: function(*args))
    again = lambda more: keep(lambda: function(*more))  # noqa: E731
    return Subject(launch, outputs, detail, json.loads(config.to_json()), report, again=again, source=source)
