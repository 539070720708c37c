#!/usr/bin/env python3
"""A worker for the tests: softmax in plain Python with a tuner of its own. Speaks protocol 1, needs only Python.

`implementation` plain has a knob `pieces` that a tuner sets; other is the same kernel by another way, wrong one that errs; twice does the work two times, or as often as the option `times` says. The option `log` names a file that
gets one JSON line a prepare; `fail` names the step that fails: "tune" refuses to tune, "die" dies in it, "wrong" writes wrong values,
"late" writes them after it was timed, once the file of the option `when` is there. It lists the source of plain, and the files that the
options `ptx` and `sass` name; an edited source has a function `rows`. With the argument `--mute` it says nothing of either.
`limp` names a file in which processes are counted: two in five are slow.
"""
import array
import hashlib
import json
import math
import os
import random
import re
import struct
import sys
import time

replies = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
MASK = 0xFFFFFFFF
SCALE = float.fromhex("0x1.bb6854p-22")
state = {}


def words(count, seed, stream):
    """Philox 4x32-10, as docs/measurement.md has it."""
    out = []
    for block in range((count + 3) // 4):
        c0, c1, c2, c3, k0, k1 = block, 0, stream, 0, seed & MASK, seed >> 32
        for _ in range(10):
            p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
            k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
        out += [c0, c1, c2, c3]
    return out[:count]


def normal(word):
    total = (word & 255) + ((word >> 8) & 255) + ((word >> 16) & 255) + (word >> 24)
    return (16384 * total + (((word * 0x9E3779B9) & MASK) >> 18) - 8364032) * SCALE


GENERATED = '''"""Softmax of rows, generated for {pieces} pieces."""
import array
import math


def rows(x, out, n):
    for first in range(0, len(x), n):
        row = x[first : first + n]
        top = max(row)
        powers = [math.exp(v - top) for v in row]
        scale = 1 / sum(powers)
        out[first : first + n] = array.array("f", [p * scale for p in powers])
'''


def launch():
    """The rows in pieces; more pieces are only slower."""
    x, out, n = state["x"], state["out"], state["n"]
    if state["edited"]:
        return state["edited"](x, out, n)
    for _ in range(state["options"].get("times", 2) if state["implementation"] == "twice" else state["repeats"]):
        for first in range(0, len(x), n):
            row = x[first : first + n]
            top = max(row)
            powers = [math.exp(v - top) for v in row]
            scale = 1 / sum(powers)
            step = max(1, n // state["pieces"])
            for at in range(0, n, step):
                out[first + at : first + at + step] = array.array("f", [p * scale for p in powers[at : at + step]])
    if state["options"].get("fail") == "wrong" or state["implementation"] == "wrong":
        out[len(out) // 2] += 1e-3


def seconds_of_one():
    begin = time.perf_counter()
    launch()
    return time.perf_counter() - begin


def tune(limit_s):
    """Three configs, each timed once; the best stays."""
    if state["options"].get("fail") == "tune":
        raise RuntimeError("the tuner found no config for this device")
    if state["options"].get("fail") == "die":
        os._exit(3)
    begin, results = time.monotonic(), {}
    for pieces in (1, 4, 16):
        state["pieces"] = pieces
        results[pieces] = seconds_of_one()
    state["pieces"] = min(results, key=results.get)
    took = max(time.monotonic() - begin, limit_s)  # a limited search lasts as long as it may
    return {"cold": True, "full": limit_s == 0, "seconds": took, "best_seconds": min(results.values()), "tried": 3}


def prepare(request):
    state["options"] = request.get("options", {})
    if state["options"].get("log"):
        with open(state["options"]["log"], "a") as log:
            kept = {k: request.get(k) for k in ("implementation", "operation", "kernel", "args", "config", "tune_s", "seed")}
            log.write(json.dumps({**kept, "pid": os.getpid(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}) + "\n")
    if request["implementation"] not in ("plain", "other", "wrong", "twice"):
        raise RuntimeError(f"there is no implementation {request['implementation']}")
    m, n = (int(v) for v in re.fullmatch(r"f32\[(\d+),(\d+)\]", request["args"][0]).groups())
    if n > state["options"].get("widest", n):
        raise RuntimeError(f"rows of {n} are too wide")
    state["edited"], state["repeats"] = None, 1
    if state["options"].get("limp"):  # two in five of its processes are slow
        with open(state["options"]["limp"], "ab") as steps:
            steps.write(b".")
            state["repeats"] = 24 if steps.tell() % 5 < 2 else 1
    if request.get("source"):
        names = {}
        exec(open(request["source"]).read(), names)
        state["edited"] = names["rows"]
    x = array.array("f", [normal(w) for w in words(m * n, request.get("seed", 0), 0)])
    state.update(implementation=request["implementation"], x=x, n=n, pieces=1, out=array.array("f", bytes(4 * m * n)))
    reply = {"implementation": state["implementation"], "version": sys.version.split()[0], "threads": 1, "bytes": 8 * m * n,
             "inputs_sha256": hashlib.sha256(x.tobytes()).hexdigest()}
    if request.get("config"):
        state["pieces"] = request["config"]["pieces"]
    elif "tune_s" in request:
        reply["tune"] = tune(request["tune_s"])
    if state["options"].get("grows"):  # somebody edits the module while the run is live
        with open(state["options"]["module"], "a") as file:
            file.write("# more\n")
    if state["options"].get("module"):  # as if it had been imported
        reply["loaded"] = {"files": [state["options"]["module"]], "packages": [{"name": "numbers", "version": "1", "sha256": "ab"}]}
    return {**reply, "config": {"pieces": state["pieces"]}}


def check(request):
    if request.get("run", True):
        state["out"] = array.array("f", [math.nan]) * len(state["x"])
        launch()
    out = state["out"]
    row = {"index": 0, "name": "out", "dtype": "f32", "numel": len(out), "path": "",
           "nan_count": sum(map(math.isnan, out)), "sha256": hashlib.sha256(out.tobytes()).hexdigest()}
    if request.get("out_dir"):
        row["path"] = os.path.join(request["out_dir"], "0.bin")
        wanted = request.get("elements")
        row["sampled"] = bool(wanted)
        with open(row["path"], "wb") as file:
            file.write(struct.pack(f"<{len(wanted[0])}f", *(out[i] for i in wanted[0])) if wanted else out.tobytes())
    return {"outputs": [row]}


def block(min_block_s):
    start, seconds = time.monotonic(), []
    while sum(seconds) < min_block_s:
        seconds.append(seconds_of_one())
    if state["options"].get("fail") == "late" and os.path.exists(state["options"]["when"]):
        state["out"] = array.array("f", [v + 1e-3 for v in state["out"]])
    return {"seconds": seconds, "launches": len(seconds), "mid_monotonic_s": (start + time.monotonic()) / 2}


def claimed(request):
    """Readings made up: `claims` seconds by single launches, `claims_in_a_row` in a row, each a little off."""
    single = request.get("mode") != "back_to_back"
    about = state["options"]["claims" if single else "claims_in_a_row"]
    blocks = []
    for _ in range(request.get("blocks", 5)):
        now = time.monotonic()
        time.sleep(0.001)
        seconds = [about * (1 + 1e-3 * (random.random() - 0.5)) for _ in range(3 if single else 1)]
        blocks.append({"seconds": seconds, "launches": 3 if single else 100, "mid_monotonic_s": (now + time.monotonic()) / 2})
    reply = {"clock": "made up", "mode": request.get("mode", "single"), "threads": 1, "flush_bytes": 0, "blocks": blocks}
    return reply if single else {**reply, "copies": 2}


def row(min_block_s, copies):
    """One reading round launches in a row, over copies of input and output in turn."""
    start, begin, launches = time.monotonic(), time.perf_counter(), 0
    while launches == 0 or time.perf_counter() - begin < min_block_s:
        state["x"], state["out"] = copies[launches % len(copies)]
        launch()
        launches += 1
    seconds = (time.perf_counter() - begin) / launches
    return {"seconds": [seconds], "launches": launches, "mid_monotonic_s": (start + time.monotonic()) / 2}


def listing(request):
    files = []
    for kind in ("source", "ptx", "sass"):
        given = state["options"].get(kind)
        text = open(given).read() if given else GENERATED.format(pieces=state["pieces"]) if kind == "source" else ""
        if not text or state["implementation"] == "twice":
            continue
        path = os.path.join(request["out_dir"], "kernel." + ("py" if kind == "source" else kind))
        with open(path, "w") as file:
            file.write(text)
        files.append({"kind": kind, "name": "rows", "path": path})
    return {"files": files, "missing": "" if files else "nothing: it is written in Python by hand"}


def answer(op, request):
    if op == "hello":
        can = [] if "--mute" in sys.argv else ["listing", "source"]
        return {"protocol": 1, "worker": "test-softmax/1", "backend": "cpu", "can": can}
    if op == "listing":
        return listing(request)
    if op == "prepare":
        return prepare(request)
    if op == "check":
        return check(request)
    if op == "time" and state["options"].get("claims"):
        return claimed(request)
    if op == "time" and request.get("mode") == "back_to_back":
        copies = [(state["x"], state["out"]), (state["x"][:], state["out"][:])]
        blocks = [row(request.get("min_block_s", 0.005), copies) for _ in range(request.get("blocks", 5))]
        return {"clock": "perf_counter", "mode": "back_to_back", "threads": 1, "flush_bytes": 0, "copies": 2, "blocks": blocks}
    if op == "time":
        heat = {"preheat": {"seconds": 0.01, "steady": True}} if request.get("preheat_s") else {}
        blocks = [block(request.get("min_block_s", 0.005)) for _ in range(request.get("blocks", 5))]
        return {"clock": "perf_counter", "threads": 1, "flush_bytes": 0, "blocks": blocks, **heat}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    op = request["op"]
    try:
        reply = {"ok": True, "op": op, **answer(op, request)}
    except Exception as error:
        reply = {"ok": False, "op": op, "code": "NotAvailable", "message": str(error)}
    print(json.dumps(reply), file=replies, flush=True)
    if op == "bye":
        break
