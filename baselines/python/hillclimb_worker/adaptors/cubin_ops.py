"""A compiled kernel that another worker saved (kernel.json, hillclimb.cubin/1): the same binary, launched from Python."""

import hashlib
import json
import pathlib

import torch

from .. import inputs
from ..driver import Driver
from . import Subject, Unsupported

NAMES = {"cubin": "a saved kernel, by its manifest"}
SCHEMA = "hillclimb.cubin/1"


def version():
    """Of the manifest's schema."""
    return SCHEMA


def read(path):
    """The manifest and the cubin's bytes, whose hash must be the saved one."""
    path = pathlib.Path(path)
    manifest = json.loads(path.read_text())
    if manifest.get("schema") != SCHEMA:
        raise Unsupported(f"{path} has schema {manifest.get('schema')}, and {SCHEMA} is needed")
    cubin = (path.parent / manifest["cubin"]).read_bytes()
    if hashlib.sha256(cubin).hexdigest() != manifest["sha256"]:
        raise Unsupported(f"the cubin beside {path} is not the one that was saved")
    return manifest, cubin


def value_of(parameter, args, outputs, scratch):
    """The eight bytes of a parameter, as a number."""
    ((kind, value),) = parameter.items()
    if kind == "number":
        return value
    if kind == "scratch":
        return scratch.data_ptr() + value
    return (args if kind == "argument" else outputs)[value].data_ptr()


def build(implementation, operation, args, options):
    """`options["manifest"]` is the path of a kernel.json."""
    manifest, cubin = read(options.get("manifest", ""))
    if manifest["operation"] != operation:
        raise Unsupported(f"the saved kernel does `{manifest['operation']}`, not `{operation}`")
    specs = [inputs.parse(text) for text in manifest["outputs"]]
    outputs = [torch.empty(s["shape"], dtype=inputs.DTYPES[s["dtype"]], device="cuda") for s in specs]
    scratch = torch.empty(max(1, manifest["scratch_bytes"]), dtype=torch.uint8, device="cuda")
    driver = Driver()
    module = driver.load(cubin)
    kernels = [
        driver.kernel(module, each, [value_of(p, args, outputs, scratch) for p in each["parameters"]])
        for each in manifest["launches"]
    ]
    stream = torch.cuda.current_stream().cuda_stream

    def launch():
        for kernel in kernels:
            kernel.launch(stream)

    return Subject(launch, lambda: outputs, f"cubin {manifest['sha256'][:12]}", {"config": manifest["config"]})
