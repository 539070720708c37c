"""Helion in Python: the user's own kernel file, unchanged, with its triton or cute backend, tuned by its own tuner or pinned."""

import importlib.util
import json
import os
import time

from . import Subject, Unsupported, keep

NAMES = {"helion-triton": "Helion, triton backend", "helion-cute": "Helion, cute backend"}


def version():
    """The package's version."""
    from importlib.metadata import version as of

    return of("helion")


def load(path):
    """The module of a kernel file, by path."""
    spec = importlib.util.spec_from_file_location("hillclimb_candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(implementation, operation, args, options):
    """`operation` is FILE.py:NAME. options: `config` pins one (its JSON); otherwise `tune_s` limits the tuner, 0 is no limit."""
    backend = NAMES.get(implementation) and implementation.split("-")[1]
    # The backend is read when helion is imported: one backend per process, as every number here is one config per process.
    os.environ["HELION_BACKEND"] = backend
    pinned = options.get("config")
    if not pinned:
        os.environ["HELION_SKIP_CACHE"] = "1"
        if options.get("tune_s"):
            os.environ["HELION_AUTOTUNE_BUDGET_SECONDS"] = str(int(options["tune_s"]))
    import helion

    path, _, name = operation.rpartition(":")
    if not path:
        raise Unsupported(f"`{operation}` does not name a kernel; Helion needs FILE.py:NAME")
    kernel = getattr(load(path), name)
    bound = kernel.bind(tuple(args))
    start = time.monotonic()
    if pinned:
        config = helion.Config.from_json(pinned)
    else:
        config = bound.autotune(tuple(args))
    tuned_s = time.monotonic() - start
    bound.set_config(config)
    launch, outputs = keep(lambda: bound(*args))
    record = {
        "config": json.loads(config.to_json()),
        "tuned_s": tuned_s,
        "cold": not pinned,
        "full": not pinned and not options.get("tune_s"),
    }
    return Subject(launch, outputs, f"helion {version()} {backend}", record)
