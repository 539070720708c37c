#!/usr/bin/env python3
"""A worker in sixty lines of code: it copies bytes with memmove. Protocol 1 of docs/worker-protocol.md; needs only Python."""
import ctypes
import hashlib
import json
import os
import sys
import time

replies = os.fdopen(os.dup(1), "w")  # keep the real standard output for replies,
os.dup2(2, 1)                        # and send whatever a library prints to standard error
flush = bytearray(16 << 20)
source = target = None


def launch():
    ctypes.memmove(target, source, len(source))


def block(min_block_s):
    """Reads one launch at a time, with the caches emptied before each, until the readings add up."""
    start, seconds = time.monotonic(), []
    while sum(seconds) < min_block_s:
        hash(bytes(flush))  # reads more than the second-level caches hold
        begin = time.perf_counter()
        launch()
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds, "launches": len(seconds), "mid_monotonic_s": (start + time.monotonic()) / 2}


def answer(op, request):
    global source, target
    if op == "hello" and request.get("protocol") != 1:
        raise ValueError("this worker speaks protocol 1")
    if op == "hello":
        return {"protocol": 1, "worker": "example-python/1", "backend": "cpu"}
    if op == "prepare":
        source = ctypes.create_string_buffer(os.urandom(request.get("bytes") or 1 << 24))
        target = ctypes.create_string_buffer(len(source))
        return {"implementation": "memmove", "version": sys.version.split()[0], "threads": 1, "bytes": 2 * len(source)}
    if op == "check":
        if request.get("run", True):
            ctypes.memset(target, 0xAB, len(target))  # poisoned, then launched once
            launch()
        path = os.path.join(request["out_dir"], "0.bin") if request.get("out_dir") else ""
        if path:
            open(path, "wb").write(target.raw)
        return {"outputs": [{"index": 0, "dtype": "u8", "numel": len(target), "path": path, "nan_count": 0,
                             "sha256": hashlib.sha256(target.raw).hexdigest()}]}
    if op == "time":
        until = time.monotonic() + request.get("warmup_s", 0.02)
        while time.monotonic() < until:
            launch()
        blocks = [block(request.get("min_block_s", 0.005)) for _ in range(request.get("blocks", 5))]
        return {"clock": "perf_counter", "threads": 1, "flush_bytes": len(flush), "blocks": blocks}
    if op == "bye":
        return {}
    raise ValueError(f"no such op: {op}")


for line in sys.stdin:
    op = ""
    try:
        op = json.loads(line)["op"]
        reply = {"ok": True, "op": op, **answer(op, json.loads(line))}
    except Exception as error:  # a worker answers every request, whatever happens
        reply = {"ok": False, "op": op, "code": "MeasurementFailed", "message": str(error)}
    print(json.dumps(reply), file=replies, flush=True)
    if op == "bye":
        break
