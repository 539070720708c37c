#!/usr/bin/env python3
"""Nominates the best implementation per variant of tasks/peers.toml: one worker process an implementation, interleaved rounds.

Writes raw samples of every round as JSON lines under --out, one file a list, and a table at the end. Nothing is measured here:
the workers time with libhillclimb_timer. An implementation that fails is a row with its error.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import threading
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"bf16": 2, "f16": 2, "f32": 4}
# Implementations of the C++ worker; all others are the Python worker's.
CPP = ("cuda-cpp", "cute-cpp", "cub", "cublaslt", "memcpy")


class Client:
    """A worker spoken to by lines; every reply has a time limit."""

    def __init__(self, name, cuda_worker):
        self.name = name
        self.errors = []
        command = shlex.split(cuda_worker) if name in CPP else [sys.executable, "-m", "hillclimb_worker"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stderr:
            self.errors.append(line)
            del self.errors[:-40]

    def ask(self, limit_s=120, **request):
        """The reply; a dead or silent worker gives one with ok false."""
        killer = threading.Timer(limit_s, self.process.kill)
        killer.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        finally:
            killer.cancel()
        if not line:
            return {"ok": False, "code": "worker_failed", "message": "the worker died or hung: " + "".join(self.errors[-3:])[-500:]}
        return json.loads(line)

    def stop(self):
        """Ends the process."""
        try:
            self.ask(op="bye", limit_s=5)
        finally:
            self.process.kill()


def fresh(clients, name, cuda_worker):
    """The worker of this name, started anew if it has died."""
    client = clients.get(name)
    if client is None or client.process.poll() is not None:
        client = clients[name] = Client(name, cuda_worker)
        client.ask(op="hello", protocol=1)
    return client


def measure(clients, entry, variant, options, sink):
    """All implementations of a variant: prepare and check each, then rounds forwards and backwards."""
    values = {**variant, "s": SIZES[variant["d"]]}
    args = [a.format(**values) for a in entry["args"]]
    bytes_ = eval(entry["bytes"], {"__builtins__": {}}, values)  # the list's own formula of m, n, s
    row = {"list": entry["name"], "variant": variant["name"], "args": args, "bytes": bytes_, "implementations": {}}
    live = []

    def ready(name):
        if name in CPP and not options.cuda_worker:
            row["implementations"][name] = {"ok": False, "message": "no --cuda-worker was named"}
            return
        client = fresh(clients, name, options.cuda_worker)
        made = client.ask(op="prepare", implementation=name, operation=entry["operation"], args=args, seed=options.seed)
        if made["ok"]:
            checked = client.ask(op="check")
            made["verdict"] = checked.get("verdict", checked)
        row["implementations"][name] = made

    threads = [threading.Thread(target=ready, args=(name,)) for name in entry["implementations"]]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name in entry["implementations"]:
        made = row["implementations"][name]
        made.pop("modules", None)
        if made["ok"] and not made["verdict"].get("wrong", 1) and "code" not in made["verdict"]:
            live.append(name)
        elif made["ok"]:
            made["error"] = f"wrong answer: {made['verdict']}"
    samples = {name: [] for name in live}
    for r in range(options.rounds):
        for name in live if r % 2 == 0 else live[::-1]:
            timed = clients[name].ask(op="time", blocks=1, min_block_s=options.block_s, warmup_s=0.01, max_launches=options.launches)
            sink.write(json.dumps({"list": entry["name"], "variant": variant["name"], "implementation": name, "round": r, **timed}) + "\n")
            if timed["ok"]:
                samples[name].append(statistics.median(timed["blocks"][0]["seconds"]))
            else:
                row["implementations"][name]["error"] = timed["message"]
    for name in live:
        if samples[name]:
            row["implementations"][name]["median_us"] = 1e6 * statistics.median(samples[name])
    for name in entry["implementations"]:
        if name in clients:
            clients[name].ask(op="drop")
    sink.write(json.dumps({"summary": row}) + "\n")
    sink.flush()
    return row


def line(row):
    """One row of the printed table, fastest first."""
    items = row["implementations"].items()
    done = sorted((v["median_us"], k) for k, v in items if "median_us" in v)
    text = ", ".join(f"{k} {us:.2f}" for us, k in done)
    lost = ", ".join(f"{k}: {(v.get('error') or v.get('message', '?'))[:90]}" for k, v in items if "median_us" not in v)
    rate = f"{row['bytes'] / done[0][0] / 1e3:.0f} GB/s" if done else "-"
    return f"{row['list']} {row['variant']} | {text} | {rate}" + (f" | failed: {lost}" if lost else "")


def main():
    """Parses options and runs the lists in order until the time is used up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lists", default="")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--launches", type=int, default=40)
    parser.add_argument("--block-s", type=float, default=0.004)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=480)
    parser.add_argument("--cuda-worker", default="", help="command of the C++ worker, for " + ", ".join(CPP))
    options = parser.parse_args()
    started = time.monotonic()
    wanted = [n for n in options.lists.split(",") if n]
    entries = tomllib.loads((ROOT / "tasks" / "peers.toml").read_text())["list"]
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    clients, rows = {}, []
    facts = None
    for entry in entries:
        if wanted and entry["name"] not in wanted:
            continue
        with open(out / f"peers_{entry['name']}.jsonl", "w") as sink:
            for variant in entry["variants"]:
                if time.monotonic() - started > options.budget_s:
                    print(f"{entry['name']} {variant['name']} | not run: the time is used up", flush=True)
                    sink.write(json.dumps({"not_run": variant["name"], "reason": "the time given was used up"}) + "\n")
                    continue
                row = measure(clients, entry, variant, options, sink)
                rows.append(row)
                print(line(row), flush=True)
                if facts is None and clients:
                    facts = next(iter(clients.values())).ask(op="device")
            sink.write(json.dumps({"device_after": next(iter(clients.values())).ask(op="device")}) + "\n" if clients else "")
    (out / "peers_summary.json").write_text(json.dumps({"schema": "hillclimb.nominations/1", "device": facts, "options": vars(options), "rows": rows}))
    for client in clients.values():
        client.stop()


if __name__ == "__main__":
    main()
