#!/usr/bin/env python3
"""Nominates the best implementation per variant of tasks/peers.toml: one worker process an implementation, interleaved rounds.

Nothing is measured here: the workers time with libhillclimb_timer. An implementation that fails is a row with its error. Whatever
happens, OUT/peers.tar.xz holds what there is: raw samples of every round as JSON lines, one file a list, a summary, and about.json,
which says on what and with what it was measured. Unpacked into evidence/h200/nominations-..., `scripts/results` makes tables of it.

    scripts/device/peers.py --lists softmax,attention --implementations torch-eager,cudnn,quack --budget-s 200 --out "$OUT"
"""

import argparse
import datetime
import json
import pathlib
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import threading
import time
import tomllib

from worker_lines import exchange

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"bf16": 2, "f16": 2, "f32": 4}
# Implementations of the C++ worker; all others are the Python worker's.
CPP = ("cuda-cpp", "cute-cpp", "cub", "cublaslt", "cudnn-cpp", "memcpy")


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
        reply = exchange(self.process, request, limit_s)
        return reply or {"ok": False, "code": "worker_failed", "message": "the worker died or hung: " + "".join(self.errors[-3:])[-500:]}

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
        request = {"op": "prepare", "implementation": name, "operation": entry["operation"], "args": args, "seed": options.seed}
        made = client.ask(limit_s=options.prepare_s, **request)
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
            timed = clients[name].ask(op="time", blocks=1, min_block_s=options.block_s, warmup_s=0.01, max_launches=options.launches,
                                      flush_bytes=options.flush_bytes)
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


def chosen(options):
    """Lists with the implementations and variants that were asked for; a name that no list has ends the script."""
    lists = tomllib.loads((ROOT / "tasks" / "peers.toml").read_text())["list"]
    known = {"lists": {entry["name"] for entry in lists}, "implementations": {n for entry in lists for n in entry["implementations"]},
             "variants": {v["name"] for entry in lists for v in entry["variants"]}}
    wanted = {}
    for key, names in known.items():
        wanted[key] = [n for n in getattr(options, key).split(",") if n] or names
        unknown = [n for n in wanted[key] if n not in names]
        if unknown:
            sys.exit(f"--{key}: tasks/peers.toml has no {', '.join(unknown)}, but {', '.join(sorted(names))}")
    out = []
    for entry in lists:
        implementations = [n for n in entry["implementations"] if n in wanted["implementations"]]
        variants = [v for v in entry["variants"] if v["name"] in wanted["variants"]]
        if entry["name"] in wanted["lists"] and implementations and variants:
            out.append({**entry, "implementations": implementations, "variants": variants})
    return out


def device_of(clients):
    """Facts and state of the device by the first worker that knows them."""
    replies = (client.ask(op="device") for client in clients.values())
    return next((reply for reply in replies if reply.get("ok")), None)


def head_commit():
    """The commit of the tree, where there is one."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True) if shutil.which("git") else None
    return found.stdout.strip() if found and found.returncode == 0 else "unknown"


def command(options):
    """The call without its folders."""
    asked = [f"--{key} {getattr(options, key)}" for key in ("lists", "implementations", "variants", "rounds") if getattr(options, key)]
    if options.flush_bytes >= 0:
        asked.append(f"--flush-bytes {options.flush_bytes}")
    return " ".join(["scripts/device/peers.py", *asked, f"--budget-s {options.budget_s:g}"])


def about(options, facts, rows):
    """What scripts/results says above the table."""
    versions = {n: m["version"] for row in rows for n, m in row["implementations"].items() if m.get("version")}
    return {
        "schema": "hillclimb.nominations_about/1", "date": datetime.date.today().isoformat(), "title": options.title,
        "device": (facts or {}).get("facts", {}), "commit": options.commit or head_commit(), "command": command(options),
        "rounds": options.rounds, "seed": options.seed, "flush_bytes": options.flush_bytes, "versions": ", ".join(f"{n} {v}" for n, v in sorted(versions.items())), "notes": [],
    }


def run(options, out, clients, rows):
    """The lists in order until the time is used up."""
    started = time.monotonic()
    for entry in chosen(options):
        with open(out / f"peers_{entry['name']}.jsonl", "w") as sink:
            for variant in entry["variants"]:
                if time.monotonic() - started > options.budget_s:
                    print(f"{entry['name']} {variant['name']} | not run: the time is used up", flush=True)
                    sink.write(json.dumps({"not_run": variant["name"], "reason": "the time given was used up"}) + "\n")
                    continue
                rows.append(measure(clients, entry, variant, options, sink))
                print(f"{time.monotonic() - started:5.0f} s  {line(rows[-1])}", flush=True)
            sink.write(json.dumps({"device_after": device_of(clients)}) + "\n")


def pack(options, out, clients, rows):
    """One archive of everything, and nothing beside it."""
    facts = device_of(clients)
    summary = {"schema": "hillclimb.nominations/1", "device": facts, "options": vars(options), "rows": rows}
    (out / "peers_summary.json").write_text(json.dumps(summary))
    (out / "about.json").write_text(json.dumps(about(options, facts, rows), indent=1))
    with tarfile.open(out / "peers.tar.xz", "w:xz") as archive:
        for path in sorted([*out.glob("peers_*.json*"), out / "about.json"]):
            archive.add(path, arcname=path.name)
            path.unlink()
    print(f"packed {(out / 'peers.tar.xz').stat().st_size >> 10} KiB into peers.tar.xz", flush=True)


def main():
    """Parses options, measures, and packs what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--lists", default="", help="of tasks/peers.toml, separated by commas; left out: all")
    parser.add_argument("--implementations", default="", help="those of the lists that are to run; left out: all")
    parser.add_argument("--variants", default="", help="those of the lists that are to run; left out: all")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--launches", type=int, default=40)
    parser.add_argument("--flush-bytes", type=int, default=-1, help="read before each launch; 0: nothing; left out: twice the L2")
    parser.add_argument("--block-s", type=float, default=0.004)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=480, help="no variant is begun after so many seconds")
    parser.add_argument("--prepare-s", type=float, default=120, help="limit of one prepare, compiling and tuning included")
    parser.add_argument("--cuda-worker", default="", help="command of the C++ worker, for " + ", ".join(CPP))
    parser.add_argument("--title", default="Nominations")
    parser.add_argument("--commit", default="", help="where the tree that runs has no git beside it")
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    chosen(options)
    if options.flush_bytes < -1:
        sys.exit(f"--flush-bytes: {options.flush_bytes} is less than nothing")
    clients, rows = {}, []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    try:
        run(options, out, clients, rows)
    finally:
        pack(options, out, clients, rows)
        for client in clients.values():
            client.stop()


if __name__ == "__main__":
    main()
