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
# Variables of Helion that only print, name the backend or move a cache that is not read: any other may make the search a lesser one.
HARMLESS = {"HELION_" + name for name in (
    "BACKEND", "CACHE_DIR", "SKIP_CACHE", "FORCE_AUTOTUNE", "PRINT_OUTPUT_CODE", "PRINT_REPRO", "OUTPUT_ORIGIN_LINES", "LOGS", "IGNORE_WARNINGS",
    "AUTOTUNE_LOG", "AUTOTUNE_LOG_LEVEL", "AUTOTUNE_LOG_DETAILS", "AUTOTUNE_PROGRESS_BAR", "AUTOTUNER_TRITON_FAILURE_DUMP_DIR", "AOT_VERBOSE")}
CACHES = {"HELION_SKIP_CACHE", "HELION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"}
# Settings of a kernel with which Helion searches all that it would; a version without one of them cannot be told otherwise by it.
FULL = {
    "autotune_effort": "full", "autotune_budget_seconds": None, "autotune_max_generations": None, "autotune_config_overrides": None,
    "autotune_seed_configs": None, "autotune_force_persistent": False, "autotune_search_acf": None, "autotune_benchmark_fn": None,
    "autotune_initial_population_strategy": None, "autotune_cache": "LocalAutotuneCache", "autotune_compile_timeout": 60,
    "autotune_benchmark_timeout": 30, "autotune_adaptive_timeout": True, "disable_autotuner_heuristics": False}
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


def lesser(settings, variables, tune_s):
    """Why a search is less than Helion's full one, or empty: variables that were set, settings of the kernel's decorator."""
    found = sorted(f"{name}={value}" for name, value in variables.items() if value and name not in HARMLESS)
    for name, full in FULL.items():
        value = getattr(settings, name, full)
        ours = name == "autotune_budget_seconds" and tune_s and value == max(1, int(tune_s))  # the limit that is looked at below
        if value != full and (value or full) and not ours:
            found.append(f"the kernel's {name} is {value!r}, and a full search has {full!r}")
    tuner = getattr(settings, "autotuner_fn", None)
    if tuner is not None and getattr(tuner, "__name__", "") != "default_autotuner_fn":
        found.append(f"the kernel has a tuner of its own, {getattr(tuner, '__name__', tuner)}")
    return "; ".join(found)


def tune(bound, args, tune_s, why, cold):
    """Helion's own search; it is full when neither the limit nor a lesser effort cut it short."""
    start = time.monotonic()
    config = bound.autotune(tuple(args))
    seconds = time.monotonic() - start
    return config, {"cold": cold, "full": not why and (not tune_s or seconds < tune_s), "seconds": seconds}


def build(implementation, operation, args, options):
    """The kernel is `kernel` (or `operation`, as FILE.py:name). `config` pins one; otherwise `tune_s` limits Helion's tuner, 0 is
    no limit; `untuned` takes Helion's default config, for a check that times nothing. `environment` is a table of further
    variables for the tuner, such as HELION_AUTOTUNE_EFFORT. Whatever makes the search a lesser one is named in `detail`."""
    where = operation if ".py" in operation else options.get("kernel") or ""
    pinned, tune_s = options.get("config"), options.get("tune_s")
    wanted = options.get("environment") or {}
    inherited = {name: value for name, value in os.environ.items() if name.startswith("HELION_")}  # of whoever started us
    untuned = bool(options.get("untuned")) and not pinned and tune_s is None
    if not pinned and tune_s is None and not untuned:
        raise Unsupported("Helion runs with a config or after a search: give `config` or `tune_s`")
    # The backend is read when helion is imported: one backend per process, as every number here is one config per process.
    os.environ["HELION_BACKEND"] = implementation.split("-")[1]
    if not pinned:
        os.environ.update(settings_for(tune_s or 0, wanted))
    import helion

    bound = kernel_of(where).bind(tuple(args))
    report, why = None, ""
    if pinned:
        config = helion.Config.from_json(json.dumps(pinned))
    elif untuned:
        config = bound.config_spec.default_config()
    else:
        why = lesser(getattr(bound, "settings", None), {**inherited, **{name: str(value) for name, value in wanted.items()}}, tune_s)
        config, report = tune(bound, args, tune_s, why, CACHES.isdisjoint(wanted))
    bound.set_config(config)
    function, source = bound, lambda: bound.to_triton_code(config)
    detail = f"helion {version()} {os.environ['HELION_BACKEND']}"
    detail += f"; not a full search: {why}" if why else ""
    if options.get("source"):
        function, source = edited(options["source"], bound.kernel.name), pathlib.Path(options["source"]).read_text
        detail += ", an edited source"
    launch, outputs = keep(lambda: function(*args))
    again = lambda more: keep(lambda: function(*more))  # noqa: E731
    return Subject(launch, outputs, detail, json.loads(config.to_json()), report, again=again, source=source)
