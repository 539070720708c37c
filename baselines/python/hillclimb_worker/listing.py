"""The code that a prepared subject runs: its generated source, and PTX and cubins of the kernels that were compiled here.

Triton keeps each compiled kernel as an object with its stages; PyTorch's inductor launches some through an object of its own; the
CuTe DSL writes what it compiled to a folder when it is told to, which the client does before the process starts. Whatever does none
of that cannot be listed, and the reply says so.
"""

import gc
import importlib.util
import os
import pathlib
import re

CUTE_FOLDER = "CUTE_DSL_DUMP_DIR"


def named(text):
    """A file name of a kernel's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", str(text))[:100] or "kernel"


def compiled_kernels():
    """Objects of compiled kernels that live in this process, by the names of their classes: no framework is imported for it."""
    wanted = ("CompiledKernel", "StaticallyLaunchedCudaKernel")
    return [thing for thing in gc.get_objects() if type(thing).__name__ in wanted]


def bytes_at(path):
    """What lies at a path, or None."""
    return pathlib.Path(path).read_bytes() if path and os.path.isfile(path) else None


def stages_of(kernel):
    """Name, and what there is of `ptx` (text) and `cubin` (bytes)."""
    name = getattr(kernel, "name", None) or getattr(getattr(kernel, "metadata", None), "name", None) or "kernel"
    stages = {}
    for kind in ("ptx", "cubin"):
        try:
            stages[kind] = kernel.asm[kind]
        except (AttributeError, KeyError, TypeError):
            pass
    if not stages.get("cubin"):
        stages["cubin"] = getattr(kernel, "cubin_raw", None) or bytes_at(getattr(kernel, "cubin_path", None))
    return name, {kind: value for kind, value in stages.items() if value}


def dumped_files():
    """What the CuTe DSL wrote in this process."""
    folder = os.environ.get(CUTE_FOLDER)
    if not folder or not os.path.isdir(folder):
        return []
    return sorted(path for path in pathlib.Path(folder).rglob("*") if path.suffix in (".ptx", ".cubin"))


def tools():
    """Disassemblers that came with Triton."""
    spec = importlib.util.find_spec("triton")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    found = [os.path.join(root, "backends", "nvidia", "bin", name) for root in roots for name in ("nvdisasm", "cuobjdump")]
    return [path for path in found if os.access(path, os.X_OK)]


def write(subject, folder):
    """The reply to `listing`: files in `folder`, tools, and what is missing. A kernel that several objects hold is written once."""
    files, seen, missing = [], set(), []

    def put(kind, name, content, suffix):
        content = content.encode() if isinstance(content, str) else bytes(content)
        if (kind, content) in seen:
            return
        seen.add((kind, content))
        path = os.path.join(folder, f"{len(files)}-{named(name)}{suffix}")
        pathlib.Path(path).write_bytes(content)
        files.append({"kind": kind, "name": str(name), "path": path})

    if subject.source is not None:
        try:
            put("source", "kernel", subject.source(), ".py")
        except Exception as error:
            missing.append(f"its generated source: {type(error).__name__}: {error}")
    for kernel in compiled_kernels():
        name, stages = stages_of(kernel)
        for kind, content in stages.items():
            put(kind, name, content, "." + kind)
    for path in dumped_files():
        put(path.suffix[1:], path.stem, path.read_bytes(), path.suffix)
    if not any(file["kind"] in ("ptx", "cubin") for file in files):
        missing.append("its PTX and cubins: no kernel was compiled in this process, so it runs those of a library")
    return {"files": files, "tools": tools(), "missing": "; ".join(missing)[:2000]}
