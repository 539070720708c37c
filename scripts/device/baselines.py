#!/usr/bin/env python3
"""Checks every kernel and algorithm of the C++ GPU worker on poisoned outputs against float64, on odd and ordinary shapes.

Writes baselines.json under --out (one row a case, with every way that was wrong) and prints a line a case; ends with 1 when
anything was wrong or a launch failed. What is not on this machine is a row with its reason, and no failure.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import time

from worker_lines import exchange

CASES = [
    *[("cuda-cpp", op, [f"{d}[{n}]"] * k) for d in ("f32", "f16", "bf16") for op, k in (("copy", 1), ("add", 2)) for n in (1, 1000, 1052675)],
    ("memcpy", "copy", ["f32[1048576]"]),
    *[("cub", "sum", [text, "-1"]) for text in ("f32[1,1]", "f32[7,33]", "f32[4,130000]", "f32[3,1000003]", "f32[1,16777216]", "f32[5000,1024]",
                                                "bf16[5,1001]", "bf16[32768,1024]", "bf16[16,1048576]", "f16[100,2560]")],
    *[("cute-cpp", "softmax", [text]) for text in ("bf16[1,8]", "bf16[5,16]", "bf16[1001,256]", "f16[4096,2560]", "f16[300,12672]",
                                                   "bf16[64,262144]", "f32[33,1024]", "f32[50,131072]")],
    *[("cudnn-cpp", "softmax", [text]) for text in ("bf16[1,8]", "bf16[1001,256]", "f16[300,12672]", "f32[33,1025]", "f32[50,131072]")],
    *[("cublaslt", op, [f"{d}[256,192]", f"{d}[192,320]" if op == "gemm_nn" else f"{d}[320,192]"])
      for d in ("bf16", "f16", "f32") for op in ("gemm_nn", "gemm_nt")],
    ("cublaslt", "gemm_nt", ["bf16[1000,504]", "bf16[72,504]"]),
]
# The sanitizer slows a kernel a hundredfold: one config and a small shape of each kernel are enough.
PINNED = [
    ("cuda-cpp", "copy", ["bf16[1001]"], {"threads": 256, "unroll": 2}),
    ("cuda-cpp", "add", ["f32[1001]", "f32[1001]"], {"threads": 256, "unroll": 2}),
    ("cub", "sum", ["bf16[3,66000]", "-1"], {"threads": 128, "items": 8, "pairs": True, "splits": 64}),
    ("cub", "sum", ["f32[40,1001]", "-1"], {"threads": 128, "items": 8, "pairs": False, "splits": 1}),
    ("cute-cpp", "softmax", ["bf16[5,256]"], {"kernel": "softmax_held", "threads": 32, "rows": 4, "vectors": 1}),
    ("cute-cpp", "softmax", ["f32[3,16384]"], {"kernel": "softmax_twice", "threads": 512, "rows": 1, "vectors": 0}),
]


class Worker:
    """The worker's process; a dead one gives replies that say so."""

    def __init__(self, command, errors):
        self.command, self.errors = command, errors
        self.start()

    def start(self):
        """Starts or restarts it, with a greeting."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        return self.ask(op="hello", protocol=1, discover=True)

    def ask(self, limit_s=90, **request):
        """The reply."""
        reply = exchange(self.process, request, limit_s)
        return reply or {"ok": False, "code": "WorkerFailed", "message": "the worker died or hung"}


def run_case(worker, implementation, operation, args, options):
    """A row: prepared with all ways, every way checked."""
    begun = time.monotonic()
    made = worker.ask(op="prepare", implementation=implementation, operation=operation, args=args, seed=3, options=options)
    row = {"implementation": implementation, "operation": operation, "args": args, "prepared": made}
    if made["ok"]:
        row["checked"] = worker.ask(op="check", all=True)
        worker.ask(op="drop")
    row["seconds"] = time.monotonic() - begun
    row["outcome"] = outcome(row)
    if "WorkerFailed" in (made.get("code"), row.get("checked", {}).get("code")):
        worker.process.kill()
        worker.start()
    return row


def outcome(row):
    """"right", "absent: ..." or "wrong: ..."."""
    made = row["prepared"]
    if not made["ok"]:
        absent = made.get("code") == "NotAvailable"
        return ("absent: " if absent else "wrong: ") + made["message"][:300] + (f" ({made['help']})" if made.get("help") else "")
    checked = row["checked"]
    if not checked["ok"]:
        return "wrong: " + checked["message"][:300]
    left_out = made["search"]["left_out"]
    if checked["ways"]["wrong"] or checked["verdict"]["wrong"] or left_out:
        return f"wrong: {json.dumps(checked['ways']['wrong'])[:300]} {checked['verdict']} left out {json.dumps(left_out)[:300]}"
    return f"right: {checked['ways']['checked']} ways, worst error {checked['verdict']['worst_error']:.2g}"


def main():
    """Runs the cases in order until the time is used up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--worker", required=True, help="command that starts hillclimb-cuda-worker")
    parser.add_argument("--search", action="append", default=[])
    parser.add_argument("--cache", default="")
    parser.add_argument("--pinned", action="store_true", help="only one config of each kernel, for a sanitizer")
    parser.add_argument("--only", default="", help="implementations, separated by commas")
    parser.add_argument("--budget-s", type=float, default=70)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    command = shlex.split(options.worker) + [text for folder in options.search for text in ("--search", folder)]
    command += ["--cache", options.cache] if options.cache else []
    cases = [(i, o, a, {"config": c}) for i, o, a, c in PINNED] if options.pinned else [(*case, {}) for case in CASES]
    cases = [case for case in cases if not options.only or case[0] in options.only.split(",")]
    name = "baselines_pinned" if options.pinned else "baselines"
    begun, rows = time.monotonic(), []
    with open(options.out / f"{name}.log", "w") as errors:
        worker = Worker(command, errors)
        device = worker.ask(op="device")
        for case in cases:
            if time.monotonic() - begun > options.budget_s:
                rows.append({"args": case[2], "implementation": case[0], "operation": case[1], "outcome": "not run: the time is used up"})
            else:
                rows.append(run_case(worker, *case))
            print(f"{case[0]} {case[1]} {' '.join(case[2])}: {rows[-1]['outcome']}", flush=True)
        worker.ask(op="bye", limit_s=10)
        status = worker.process.wait(10)
    (options.out / f"{name}.json").write_text(json.dumps({"schema": "hillclimb.baseline-check/1", "device": device, "status": status, "rows": rows}))
    wrong = sum(row["outcome"].startswith("wrong") for row in rows)
    right = sum(row["outcome"].startswith("right") for row in rows)
    print(f"{right} right, {wrong} wrong, {len(rows) - right - wrong} absent or not run, worker's status {status}, {time.monotonic() - begun:.0f} s")
    return 1 if wrong or status else 0


if __name__ == "__main__":
    sys.exit(main())
