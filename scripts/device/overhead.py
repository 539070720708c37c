#!/usr/bin/env python3
"""The same kernel through the C++ worker and through the Python worker: do their block medians agree within 0.5 %?

The C++ worker compiles one copy kernel for each size and saves it. Then, in rounds of fresh processes, both workers load that
very binary and time it with the same timer; a second C++ process shows what two equal arms differ by. Rounds go through all
orders of the arms. Where buffers lie moves a short kernel by some tenths of a per cent for as long as a process lives, so every
process times it on several sets of buffers; it also gets further rounds alone. Writes overhead.json (every reading) under
--out and prints a table. Ends with 0 when the arms agree at every size, with 1 when they differ at one, otherwise with 3: the bounds
reach beyond the limit, and more rounds are needed.
"""

import argparse
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import threading
import time

from worker_lines import exchange

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"20us": 10 << 20, "100us": 52 << 20}  # f32 elements; a copy of n moves 8 n bytes, at about 4 TB/s
SHORT = ["20us"]  # what the further rounds time
SETS = {"20us": 6, "100us": 2}  # sets of buffers in a process
CONFIG = {"threads": 256, "unroll": 4}
LIMIT = 0.005
TIMER = []  # path of libhillclimb_timer.so, when it lies beside the worker


class Worker:
    """A worker process spoken to by lines; a reply that is late kills it."""

    def __init__(self, command, errors):
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}/baselines/python:{os.environ.get('PYTHONPATH', '')}"}
        if TIMER:
            environment["HILLCLIMB_TIMER"] = TIMER[0]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)

    def ask(self, limit_s=100, **request):
        """The reply, which must be a good one."""
        reply = exchange(self.process, request, limit_s) or {"ok": False, "message": "the worker died or hung"}
        if not reply["ok"]:
            raise RuntimeError(f"{request['op']}: {reply['message']}")
        return reply

    def bye(self):
        """Ends the process."""
        try:
            self.ask(op="bye", limit_s=10)
        finally:
            self.process.kill()
            self.process.wait()


def save_kernels(command, folder, errors):
    """Manifests of the copy kernel by size, compiled once."""
    worker = Worker(command, errors)
    hello = worker.ask(op="hello", protocol=1, discover=True)
    manifests = {}
    for name, n in SIZES.items():
        target = folder / name
        worker.ask(op="prepare", implementation="cuda-cpp", operation="copy", args=[f"f32[{n}]"], seed=1,
                   options={"config": CONFIG, "save": str(target)})
        manifests[name] = str(target / "kernel.json")
    device = worker.ask(op="device")
    worker.bye()
    return manifests, {"hello": hello, "device": device}


def start(command, manifests, sizes, errors):
    """A process with the kernels of these sizes prepared and checked on poisoned memory."""
    worker = Worker(command, errors)
    worker.ask(op="hello", protocol=1)
    hashes = {}
    for name, slot in slots(sizes):
        made = worker.ask(op="prepare", implementation="cubin", operation="copy", args=[f"f32[{SIZES[name]}]"], seed=1,
                          manifest=manifests[name], slot=slot)
        verdict = worker.ask(op="check", slot=slot)["verdict"]
        if verdict["wrong"] or verdict["nonfinite"]:
            raise RuntimeError(f"a wrong copy: {verdict}")
        hashes[slot] = made["inputs_sha256"]
    return worker, hashes


def slots(sizes):
    """Every set of buffers: its size and the name of its slot."""
    return [(name, f"{name}-{i}") for name in sizes for i in range(SETS[name])]


def play(arms, manifests, sizes, order, options, errors):
    """One round: fresh processes of all arms, timed one after the other. The raw replies by arm and size, one for each set of buffers."""
    workers, hashes, failures = {}, {}, []

    def begin(arm):
        try:
            workers[arm], hashes[arm] = start(arms[arm], manifests, sizes, errors)
        except Exception as error:
            failures.append(f"{arm}: {error}")

    threads = [threading.Thread(target=begin, args=(arm,)) for arm in arms]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise RuntimeError("; ".join(failures))
    if any(h != hashes["cpp"] for h in hashes.values()):
        raise RuntimeError(f"the arms drew different inputs: {hashes}")
    replies = {arm: {name: [] for name in sizes} for arm in arms}
    for arm in order:
        for name, slot in slots(sizes):
            replies[arm][name].append(workers[arm].ask(op="time", slot=slot, blocks=options.blocks, min_block_s=3600,
                                                       max_launches=options.launches, warmup_s=0.1))
    for worker in workers.values():
        worker.bye()
    return replies


def medians(replies):
    """Median seconds of each block, of all sets of buffers. Records of version 1 hold one reply in place of a list."""
    replies = [replies] if isinstance(replies, dict) else replies
    return [statistics.median(block["seconds"]) for reply in replies for block in reply["blocks"]]


def typical(replies):
    """Seconds of a process: the mean over its sets of buffers of the median block."""
    replies = [replies] if isinstance(replies, dict) else replies
    return statistics.fmean(statistics.median(medians(reply)) for reply in replies)


def student(freedom):
    """The 97.5 % point of Student's t, by the first terms of its expansion; within 1 % from five degrees of freedom on."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def outcome(low, high):
    """agree: the whole interval lies within the limit; differ: none of it does; undecided: it reaches beyond an end, or there is none."""
    if low is None:
        return "undecided"
    if high < 1 - LIMIT or low > 1 + LIMIT:
        return "differ"
    return "agree" if low >= 1 - LIMIT and high <= 1 + LIMIT else "undecided"


def compare(rounds, arm, other, size):
    """Ratio of the arms' times over the rounds that have this size: the geometric mean of the rounds' ratios, with 95 % bounds."""
    logs = [math.log(typical(r[arm][size]) / typical(r[other][size]))
            for r in rounds if size in r[arm]]
    mean, low, high = statistics.fmean(logs), None, None
    if len(logs) > 1:
        half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        low, high = math.exp(mean - half), math.exp(mean + half)
    return {"ratio": math.exp(mean), "low": low, "high": high, "rounds": len(logs), "outcome": outcome(low, high)}


def microseconds(rounds, arm, size):
    """The median of all block medians."""
    return 1e6 * statistics.median(m for r in rounds if size in r[arm] for m in medians(r[arm][size]))


def main():
    """Parses options, plays rounds until the time is used up, writes the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--worker", required=True, help="path of hillclimb-cuda-worker")
    parser.add_argument("--search", action="append", default=[], help="folder with NVRTC; given to the C++ worker")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=10, help="rounds with every size")
    parser.add_argument("--short-rounds", type=int, default=30, help=f"further rounds, of {' and '.join(SHORT)} alone")
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--launches", type=int, default=60)
    parser.add_argument("--budget-s", type=float, default=280, help="no round begins that would end later")
    options = parser.parse_args()
    begun = time.monotonic()
    timer = pathlib.Path(options.worker).resolve().parent / "libhillclimb_timer.so"
    TIMER.extend([str(timer)] if timer.exists() else [])
    options.out.mkdir(parents=True, exist_ok=True)
    options.search.append(sysconfig.get_path("purelib"))  # PyTorch's packages bring NVRTC along
    cpp = [options.worker] + [text for folder in options.search for text in ("--search", folder)]
    arms = {"cpp": cpp, "python": [options.python, "-m", "hillclimb_worker"], "cpp-again": cpp}
    rounds, longest, orders = [], 0, list(itertools.permutations(arms))
    with open(options.out / "overhead.log", "w") as errors:
        manifests, facts = save_kernels(cpp, options.out / "kernels", errors)
        while len(rounds) < options.rounds + options.short_rounds and time.monotonic() - begun + longest < options.budget_s:
            round_begun = time.monotonic()
            sizes = SHORT if len(rounds) >= options.rounds else list(SIZES)
            rounds.append(play(arms, manifests, sizes, orders[len(rounds) % len(orders)], options, errors))
            longest = max(longest, time.monotonic() - round_begun)
    results = {size: {"python over cpp": compare(rounds, "python", "cpp", size),
                      "cpp over cpp": compare(rounds, "cpp-again", "cpp", size),
                      "microseconds": {arm: microseconds(rounds, arm, size) for arm in arms}}
               for size in SIZES}
    record = {"schema": "hillclimb.overhead/2", "limit": LIMIT, "sizes": SIZES, "sets": SETS, "config": CONFIG, "facts": facts, "results": results,
              "rounds": rounds}
    (options.out / "overhead.json").write_text(json.dumps(record))
    for size, row in results.items():
        us = ", ".join(f"{arm} {value:.3f}" for arm, value in row["microseconds"].items())
        for pair in ("python over cpp", "cpp over cpp"):
            c = row[pair]
            bounds = f"[{c['low']:.5f}, {c['high']:.5f}]" if c["low"] else "[one round: no bounds]"
            print(f"{size}: {pair} {c['ratio']:.5f} {bounds} over {c['rounds']} rounds: {c['outcome']}; us: {us}")
    print(f"{time.monotonic() - begun:.0f} s")
    outcomes = {row["python over cpp"]["outcome"] for row in results.values()}
    return 1 if "differ" in outcomes else 3 if "undecided" in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
