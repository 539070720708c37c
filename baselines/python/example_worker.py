#!/usr/bin/env python3
"""A small worker to copy from: e^x of one f32 tensor. Protocol 1 of docs/worker-protocol.md; needs only Python."""
import array
import hashlib
import json
import math
import os
import re
import sys
import time

replies = os.fdopen(os.dup(1), "w")  # keep the real standard output for replies,
os.dup2(2, 1)                        # and send whatever a library prints to standard error
MASK = 0xFFFFFFFF
x = y = None


def drawn(count, seed):
    """The generator of docs/measurement.md, Philox 4x32-10: normal values of stream 0, the first argument's."""
    out = array.array("f")
    for block in range((count + 3) // 4):
        c0, c1, c2, c3, k0, k1 = block & MASK, block >> 32, 0, 0, seed & MASK, seed >> 32
        for _ in range(10):
            p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
            k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
        for word in (c0, c1, c2, c3):
            t = 16384 * sum(word.to_bytes(4, "little")) + ((word * 0x9E3779B9 & MASK) >> 18) - 8364032
            out.append(t * float.fromhex("0x1.bb6854p-22"))
    return out[:count]


def launch():
    y[:] = array.array("f", map(math.exp, x))


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def prepare(request):
    global x, y
    x = y = None  # a refusal leaves nothing to time
    if request["implementation"] != "exp" or request.get("operation") not in (None, "", "exp"):
        raise ValueError(f"this worker has `exp` alone, not {request.get('operation') or request['implementation']}")
    args, seed = request.get("args", []), request.get("seed", 0)
    shape = re.fullmatch(r"f32\[([\d,]+)\]", args[0]) if len(args) == 1 else None
    count = math.prod(int(n) for n in shape[1].split(",")) if shape else 0
    if count == 0:
        raise ValueError(f"one contiguous f32 tensor of normal values is needed, not {args}")
    x = drawn(count, seed)
    y = array.array("f", bytes(4 * count))
    return {"implementation": "exp", "version": sys.version.split()[0], "threads": 1, "bytes": 8 * count,
            "inputs_sha256": sha256(f"0:{sha256(x)}\n".encode())}


def check(request):
    if request.get("run", True):
        y[:] = array.array("f", [math.nan]) * len(y)  # poisoned, then launched once
        launch()
    path = os.path.join(request["out_dir"], "0.bin") if request.get("out_dir") else ""
    if path:
        with open(path, "wb") as file:
            file.write(y)
    return {"outputs": [{"index": 0, "dtype": "f32", "numel": len(y), "path": path, "sha256": sha256(y),
                         "nan_count": sum(map(math.isnan, y))}]}


def block(min_block_s, max_launches, flush):
    """Reads one launch at a time, with the caches emptied before each, until the readings add up."""
    start, seconds = time.monotonic(), []
    while not seconds or (sum(seconds) < min_block_s and len(seconds) != max_launches):
        bytes(flush)  # a copy reads all of it
        begin = time.perf_counter()
        launch()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "launches": len(seconds), "mid_monotonic_s": (start + time.monotonic()) / 2}


def timed(request):
    if request.get("mode", "single") != "single":
        raise ValueError(f"this worker times single launches, not {request['mode']}")
    flush = bytearray(request["flush_bytes"] if request.get("flush_bytes", -1) >= 0 else 32 << 20)  # -1: enough for an L2
    until = time.monotonic() + request.get("warmup_s", 0.02)
    launch()
    while time.monotonic() < until:
        launch()
    limits = request.get("min_block_s", 0.005), request.get("max_launches", 0)
    blocks = [block(*limits, flush) for _ in range(request.get("blocks", 5))]
    return {"clock": "perf_counter", "mode": "single", "threads": 1, "flush_bytes": len(flush), "blocks": blocks}


def answer(op, request):
    if op == "hello" and request.get("protocol") != 1:
        raise ValueError("this worker speaks protocol 1")
    if op == "hello":
        return {"protocol": 1, "worker": "example-python/1", "backend": "cpu", "offers": [{"implementation": "exp"}]}
    if op == "bye":
        return {}
    if op not in ("prepare", "check", "time"):
        raise ValueError(f"no such op: {op}")
    if request.get("slot", "main") != "main":
        raise ValueError("this worker has the slot `main` alone")
    if op != "prepare" and x is None:
        raise ValueError("nothing is prepared")
    return {"prepare": prepare, "check": check, "time": timed}[op](request)


for line in sys.stdin:
    op = ""
    try:
        request = json.loads(line)
        op = request["op"]
        reply = {"ok": True, "op": op, **answer(op, request)}
    except Exception as error:  # a worker answers every request, whatever happens
        code = "NotAvailable" if op == "prepare" else "MeasurementFailed"
        reply = {"ok": False, "op": op, "code": code, "message": str(error) or repr(error)}
    print(json.dumps(reply), file=replies, flush=True)
    if op == "bye":
        break
