"""The worker: JSON lines on standard input and output, one subject at a time; docs/worker-protocol.md is the law."""

import argparse
import hashlib
import json
import os
import sys
import sysconfig
import time
import traceback

from . import PROTOCOL, VERSION


IMPORTED = []  # what a fork server had imported before this process was forked off


class Refused(Exception):
    """A request that cannot be served: code, message and the fix, if one is known, go to the client."""

    def __init__(self, code, message, fix=None):
        super().__init__(message)
        self.code = code
        self.fix = fix


PREHEAT_WINDOW_S = 0.5  # three successive ones have to agree, as in src/bench/preheat.h
NO_GPU = "PyTorch sees no CUDA device here; --device cpu measures on the CPU"
MOST_COPIES = 4096  # of inputs and outputs: more cost more to prepare than to measure


class Turns:
    """Launches over subjects in turn."""

    def __init__(self, copies):
        self.copies = copies
        self.at = 0

    def launch(self):
        """The next one's launch."""
        self.at = (self.at + 1) % len(self.copies)
        self.copies[self.at][0].launch()


class Worker:
    """State between requests: one subject per slot, inputs kept for the next one of the same arguments."""

    def __init__(self, device="cuda"):
        self.subjects = {}
        self.copies = {}  # by slot: (subject, args) that launches in a row go over, the prepared ones first
        self.timer = None
        self.cache = (None, None)
        self.kind = device

    def hello(self, request):
        """Who we are and what can be run; packages that are missing are listed with the reason."""
        if request.get("protocol") != PROTOCOL:
            raise Refused("MeasurementFailed", f"this worker speaks protocol {PROTOCOL}, not {request.get('protocol')}")
        from . import adaptors

        offers, missing = [], []
        absent = self.no_device() if request.get("discover") else ""
        for name in adaptors.IMPLEMENTATIONS if request.get("discover") else ():  # each look imports a framework
            try:
                module = adaptors.module_of(name)
                if self.kind not in adaptors.devices_of(module):
                    missing.append({"implementation": name, "reason": f"it does not run on {self.kind}"})
                    continue
                version = module.version()
                if absent:
                    missing.append({"implementation": name, "reason": absent, "help": "" if absent == NO_GPU else adaptors.help_for("torch-eager")})
                    continue
                offers.append({"implementation": name, "library": "", "version": version})
            except Exception as error:
                missing.append({"implementation": name, "reason": f"{type(error).__name__}: {error}", "help": adaptors.help_for(name)})
        return {"protocol": PROTOCOL, "worker": f"hillclimb-python-worker {VERSION}", "backend": self.kind,
                "can": ["listing", "source"], "offers": offers, "missing": missing}

    def no_device(self):
        """Why nothing can be prepared here, or empty: every implementation keeps its tensors in PyTorch's."""
        try:
            import torch
        except ImportError as error:
            return f"PyTorch is not here, and every implementation needs it: {error}"
        return "" if self.kind == "cpu" or torch.cuda.is_available() else NO_GPU

    def inputs(self, texts, seed):
        """Arguments by their texts; the same texts and seed give the tensors that are there already."""
        from . import inputs

        key = (tuple(texts), seed)
        if self.cache[0] != key:
            self.cache = (None, None)
            made = []
            for stream, text in enumerate(texts):
                value = inputs.parse(text)
                made.append(inputs.make(value, seed, stream, self.kind) if isinstance(value, dict) else value)
            self.cache = (key, made)
        return self.cache[1]

    def open(self, threads):
        """The timer, after the framework made its context; on the CPU, the number of threads as well."""
        import torch

        from .timer import CpuTimer, CudaTimer

        if self.kind == "cpu":
            torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
            self.timer = self.timer or CpuTimer()
            return
        if not torch.cuda.is_available():
            raise Refused("NotAvailable", NO_GPU)
        torch.cuda.init()
        torch.empty(1, device="cuda")
        self.timer = self.timer or CudaTimer()

    def prepare(self, request):
        """Makes inputs, builds the subject, runs it twice."""
        from . import adaptors

        started = time.monotonic()
        implementation = request["implementation"]
        try:
            module = adaptors.module_of(implementation)
        except adaptors.Unsupported as error:
            raise Refused("NotAvailable", str(error))
        except ImportError as error:
            raise Refused("NotAvailable", f"{implementation} is not here: {error}", adaptors.help_for(implementation))
        if self.kind not in adaptors.devices_of(module):
            raise Refused("NotAvailable", f"{implementation} does not run on {self.kind}")
        try:
            import torch
        except ImportError as error:
            raise Refused("NotAvailable", f"PyTorch is not here, and every implementation needs it: {error}", adaptors.help_for("torch-eager"))

        if request.get("source") and not getattr(module, "SOURCES", False):
            raise Refused("NotAvailable", f"{implementation} generates no source, so an edited one cannot take its place")
        self.open(int(request.get("threads", 0)))
        args = self.inputs(request["args"], int(request.get("seed", 0)))
        given = {name: request.get(name) for name in ("manifest", "kernel", "config", "tune_s", "source")}
        options = {**request.get("options", {}), **given}
        try:
            with torch.no_grad():
                subject = module.build(implementation, request.get("operation", ""), args, options)
                for _ in range(2):
                    subject.launch()
                self.wait()
        except adaptors.Unsupported as error:
            raise Refused("NotAvailable", str(error))
        except ImportError as error:
            raise Refused("NotAvailable", f"{implementation} is not here: {error}", adaptors.help_for(implementation))
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        moved = moved_bytes(subject, args)
        self.subjects[request.get("slot", "main")] = (subject, request, args)
        self.copies.pop(request.get("slot", "main"), None)
        forked = f"; forked by a server that had imported {IMPORTED[0]}" if IMPORTED else ""
        reply = {name: value for name, value in (("tune", subject.tune), ("search", subject.search)) if value}
        return {
            **reply,
            "implementation": implementation,
            "version": module.version(),
            "library": getattr(sys.modules.get(implementation.split("-")[0]), "__file__", "") or "",
            "detail": subject.detail + forked,
            "config": subject.config,
            "threads": torch.get_num_threads() if self.kind == "cpu" else 0,
            "bytes": moved,
            "prepare_s": time.monotonic() - started,
            "in_place": False,
            "inputs_sha256": host_digest(args) if self.kind == "cpu" else digest(tensors),
            "loaded": loaded(),
        }

    def wait(self):
        """Until all queued work is done."""
        import torch

        if self.kind == "cuda":
            torch.cuda.synchronize()

    def subject(self, request):
        """What is prepared in the request's slot."""
        slot = request.get("slot", "main")
        if slot not in self.subjects:
            raise Refused("MeasurementFailed", f"nothing is prepared in slot `{slot}`")
        return self.subjects[slot]

    def check(self, request):
        """Runs once on poisoned memory and compares sampled rows with float64; optionally writes the outputs."""
        import torch

        from . import reference

        subject, prepared, args = self.subject(request)
        if request.get("run", True):
            poison(subject.outputs())
            with torch.no_grad():
                subject.launch()
        self.wait()
        outputs = subject.outputs()
        verdict = reference.compare(request.get("reference", prepared.get("operation", "")), args, outputs, prepared.get("seed", 0))
        rows, wanted = [], request.get("elements") or []
        for index, t in enumerate(outputs):
            path = ""
            if request.get("out_dir"):
                os.makedirs(request["out_dir"], exist_ok=True)
                path = os.path.join(request["out_dir"], f"{index}.bin")
                written = t.contiguous().reshape(-1)
                if index < len(wanted):
                    written = written[torch.tensor(wanted[index], dtype=torch.int64, device=t.device)]
                written.view(torch.uint8).cpu().numpy().tofile(path)
            rows.append({"index": index, "name": f"out.{index}", "dtype": short_name(t.dtype), "numel": t.numel(), "path": path,
                         "sha256": digest([t]), "nan_count": int(t.isnan().sum()),
                         "sampled": bool(path) and index < len(wanted)})
        return {"outputs": rows, "verdict": verdict}

    def time(self, request):
        """Raw blocks by the shared timer, on a GPU on the current stream."""
        import torch

        from .timer import BACK_TO_BACK, SINGLE

        subject, prepared, _ = self.subject(request)
        rotates = request.get("mode", "single") == "back_to_back"
        flush = int(request.get("flush_bytes", -1))
        with torch.no_grad():
            turns = Turns(self.rotate(request, flush if flush >= 0 else self.timer.cache_bytes())) if rotates else None
            launch = turns.launch if rotates else subject.launch
            heat = self.preheat(launch, float(request.get("preheat_s", 0)))
            reply = self.timer.run(
                launch,
                torch.cuda.current_stream().cuda_stream if self.kind == "cuda" else torch.get_num_threads(),
                blocks=int(request.get("blocks", 5)),
                min_block_s=float(request.get("min_block_s", 0.005)),
                warmup_s=float(request.get("warmup_s", 0.02)),
                mode={"single": SINGLE, "back_to_back": BACK_TO_BACK}[request.get("mode", "single")],
                flush_bytes=flush,
                max_launches=int(request.get("max_launches", 0)),
            )
        if rotates:  # what the last launch left is what a check looks at
            self.subjects[request.get("slot", "main")] = (turns.copies[turns.at][0], prepared, turns.copies[turns.at][1])
            reply["copies"] = len(turns.copies)
        return {**reply, **heat}

    def preheat(self, launch, most_s):
        """Launches until the GPU is steady, for at most so many seconds; what came of it. Nothing on a CPU."""
        import torch

        if self.kind != "cuda" or not most_s > 0:
            return {}
        begin = time.monotonic()
        state = self.timer.preheat(launch, torch.cuda.current_stream().cuda_stream, window_s=PREHEAT_WINDOW_S, max_s=most_s)
        kept = {name: state[name] for name in ("steady", "sm_mhz_clock", "temperature_c", "power_w")}
        return {"preheat": {"seconds": time.monotonic() - begin, **kept}}

    def rotate(self, request, cache_bytes):
        """Subjects and arguments, copies of the prepared ones, which together exceed `cache_bytes`."""
        from . import adaptors

        slot = request.get("slot", "main")
        subject, prepared, args = self.subject(request)
        moved = moved_bytes(subject, args)
        wanted = cache_bytes // moved + 1 if moved > 0 else 1
        if wanted > MOST_COPIES:
            raise Refused(
                "MeasurementFailed",
                f"inputs and outputs of {moved} bytes need {wanted} copies to exceed {cache_bytes} bytes of cache, and {MOST_COPIES} "
                "are the most that launches in a row go over",
                "measure single launches, which evict the caches in another way",
            )
        copies = self.copies.setdefault(slot, [(subject, args)])
        while len(copies) < wanted:
            more = [copy_of(a) for a in args]
            if subject.again:
                made = adaptors.Subject(*subject.again(more), again=subject.again)
            else:
                given = {name: prepared.get(name) for name in ("manifest", "kernel", "source")}
                options = {**prepared.get("options", {}), **given, "config": subject.config, "tune_s": None}
                implementation = prepared["implementation"]
                made = adaptors.module_of(implementation).build(implementation, prepared.get("operation", ""), more, options)
            made.launch()  # takes the memory that it needs
            copies.append((made, more))
        self.wait()
        return copies

    def listing(self, request):
        """Source, PTX and cubins of what is prepared, as files in the request's folder."""
        from . import listing

        subject, _, _ = self.subject(request)
        os.makedirs(request["out_dir"], exist_ok=True)
        return listing.write(subject, request["out_dir"])

    def device(self, _request):
        """Facts and state of the device."""
        return {"facts": self.timer.facts(), "state": self.timer.state()}

    def drop(self, request):
        """Forgets a slot, so that its memory can be used again."""
        import torch

        self.subjects.pop(request.get("slot", "main"), None)
        self.copies.pop(request.get("slot", "main"), None)
        if self.kind == "cuda":
            torch.cuda.empty_cache()
        return {}


def moved_bytes(subject, args):
    """Of inputs and outputs, each once."""
    import torch

    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    return sum(t.numel() * t.element_size() for t in (*tensors, *subject.outputs()))


def copy_of(value):
    """A tensor with the same bytes and strides in memory of its own; anything else as it is."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    stored = torch.empty(0, dtype=value.dtype, device=value.device).set_(value.untyped_storage())
    return stored.clone().as_strided(value.size(), value.stride(), value.storage_offset())


def poison(outputs):
    """Fills the outputs, and as much free memory of the same sizes, with NaN (or all ones): an unwritten element shows."""
    import torch

    held = []
    for t in outputs:
        for target in (t, torch.empty_like(t)):
            flat = target.as_strided((target.untyped_storage().nbytes() // target.element_size(),), (1,), 0)
            flat.fill_(float("nan") if t.is_floating_point() else -1)
            held.append(target)


def short_name(dtype):
    """The protocol's name of an element type."""
    from .inputs import DTYPES

    return next((name for name, known in DTYPES.items() if known is dtype), str(dtype).removeprefix("torch."))


def host_digest(args):
    """As the C++ worker hashes inputs on the CPU: positions, and the bytes of every tensor's storage."""
    import torch

    text = ""
    for position, t in enumerate(args):
        if isinstance(t, torch.Tensor):
            stored = torch.empty(0, dtype=torch.uint8).set_(t.untyped_storage())
            text += f"{position}:{hashlib.sha256(stored.numpy()).hexdigest()}\n"
    return hashlib.sha256(text.encode()).hexdigest()


def digest(tensors):
    """SHA-256 over per-chunk sums of the bits: computed on the device, since outputs may be gigabytes."""
    import torch

    h = hashlib.sha256()
    for t in tensors:
        flat = t.contiguous().reshape(-1).view(torch.uint8)
        usable = flat[: flat.numel() // 8 * 8].view(torch.int64)
        width = 1 << 16
        full = usable[: usable.numel() // width * width].reshape(-1, width)
        weights = torch.arange(1, width + 1, device=t.device, dtype=torch.int64) * 0x9E3779B1 | 1
        for first in range(0, full.shape[0], 256):
            h.update((full[first : first + 256] * weights).sum(1).cpu().numpy().tobytes())
        h.update(usable[full.numel() :].cpu().numpy().tobytes())
        h.update(flat[usable.numel() * 8 :].cpu().numpy().tobytes())
    return h.hexdigest()


def loaded():
    """Files of loaded modules that no installed package brought, which a frozen tree must cover; and the packages that brought the
    others, each with the hash of its own list of files."""
    roots = [os.path.realpath(p) for p in sys.path if p and any(name.endswith(".dist-info") for name in listed(p))]
    library = [os.path.realpath(p) for p in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if p]
    library = [p for p in library if p not in roots]
    files, tops = set(), set()
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not path or not os.path.isabs(path):
            continue
        real = os.path.realpath(path)
        root = next((r for r in roots if real.startswith(r + os.sep)), None)
        if root:
            tops.add((root, real[len(root) + 1 :].split(os.sep)[0]))
        elif not any(real.startswith(p + os.sep) for p in library):
            files.add(path)
    return {"files": sorted(files), "packages": packages_of(tops)}


def packages_of(tops):
    """Name, version and hash of the list of files of the packages to which the loaded top-level names of each folder belong."""
    found = []
    for root in sorted({root for root, _ in tops}):
        wanted = {top for there, top in tops if there == root}
        for info in sorted(name for name in listed(root) if name.endswith(".dist-info")):
            try:
                with open(os.path.join(root, info, "RECORD"), "rb") as record:
                    text = record.read()
            except OSError:
                continue
            if wanted.isdisjoint(line.split(",")[0].split("/")[0] for line in text.decode(errors="replace").splitlines()):
                continue
            name, _, version = info.removesuffix(".dist-info").partition("-")
            found.append({"name": name, "version": version, "sha256": hashlib.sha256(text).hexdigest()})
    return found


def listed(folder):
    """Names in a folder, none when it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def main(arguments=None):
    """Serves requests until `bye` or the end of the input."""
    parser = argparse.ArgumentParser(prog="hillclimb_worker", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="where tensors lie and launches are timed")
    options = parser.parse_args(arguments)
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    sys.stdout = sys.stderr
    worker = Worker(options.device)
    for line in sys.stdin:
        operation = ""
        try:
            request = json.loads(line)
            operation = request.get("op", "")
            if operation == "bye":
                channel.write(json.dumps({"ok": True, "op": "bye"}) + "\n")
                return 0
            if operation not in ("hello", "prepare", "check", "time", "listing", "device", "drop"):
                raise Refused("MeasurementFailed", f"there is no operation `{operation}`")
            reply = {"ok": True, "op": operation, **getattr(worker, operation)(request)}
        except Refused as error:
            reply = {"ok": False, "op": operation, "code": error.code, "message": str(error)}
            if error.fix:
                reply["help"] = error.fix
        except Exception as error:
            traceback.print_exc()
            reply = {"ok": False, "op": operation, "code": type(error).__name__, "message": str(error)[:2000]}
        channel.write(json.dumps(reply) + "\n")
    return 0


if __name__ == "__main__":
    server = os.environ.get("HILLCLIMB_FORK_SERVER")
    if server:
        from . import fork_server

        sys.exit(fork_server.ask(server, sys.argv[1:]))
    sys.exit(main())
