#!/usr/bin/env python3
"""Takes tasks/helion-softmax.toml through start, verify, check and report on a GPU, within one deadline.

    scripts/device/helion.py --build build/release --site /tmp/site --out "$OUT"

Variants are taken one after the other, each to its confirmed pairs, as far as the time goes; a second call with the same --work goes
on where the first one ended. At the end the task with the cute backend is asked for one variant, so that its refusal, if it
refuses, is on record; --cute-task "" leaves that out. Another --task needs a --work of its own, such as
--task tasks/softmax-peers.toml --cute-task "" --work /tmp/hillclimb-peers --variants "sm2 sm8". Everything lands in
OUT/helion.tar.xz, whatever happened. --site is a folder with the Python packages.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRELOADED = ("torch", "triton", "torch._dynamo", "torch._inductor.compile_fx", "liger_kernel.ops.softmax", "quack.softmax",
             "cudnn")
BEGAN = time.monotonic()


def say(text):
    """A line with the time since the start."""
    print(f"[{time.monotonic() - BEGAN:5.0f} s] {text}", flush=True)


class Run:
    """Paths, environment and deadline of this call."""

    def __init__(self, options):
        self.options = options
        self.program = str(pathlib.Path(options.build, "hillclimb").resolve())
        self.work = pathlib.Path(options.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.deadline = BEGAN + options.budget_s
        self.log = open(self.work / "log.txt", "a")
        site = pathlib.Path(options.site)
        packages = [str(f) for f in (site, *sorted(site.glob("nvidia_cutlass_dsl/*_packages")), ROOT / "baselines" / "python")]
        self.environment = {
            **os.environ,
            "PYTHONPATH": ":".join(packages),
            "HILLCLIMB_TIMER": str(pathlib.Path(options.build, "libhillclimb_timer.so").resolve()),
            "HILLCLIMB_CACHE": str(self.work / "cache"),
            "XDG_STATE_HOME": str(self.work / "state"),
        }
        self.server = None

    def left(self):
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def command(self, *words, limit_s=None):
        """Runs a command, its lines printed as they come; its status, or -1 when the time was over."""
        say("$ " + " ".join(words[1:]))
        limit = min(self.left(), limit_s or self.left())
        process = subprocess.Popen(words, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True)
        killer = threading.Timer(max(1, limit), lambda: os.killpg(process.pid, signal.SIGKILL))
        killer.start()
        for line in process.stdout:
            self.log.write(line)
            if line.strip():
                say("  " + line.rstrip()[:300])
        status = process.wait()
        killer.cancel()
        self.log.flush()
        return status

    def start_server(self):
        """Workers start in a moment when a server has imported the frameworks; without it they import them themselves."""
        socket = str(self.work / "fork-server")
        log = open(self.work / "fork-server.log", "w+")
        words = [sys.executable, "-m", "hillclimb_worker.fork_server", socket, "--import", *PRELOADED]
        self.server = subprocess.Popen(words, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        for _ in range(120):
            time.sleep(1)
            text = (self.work / "fork-server.log").read_text()
            if "fork server: ready" in text:
                self.environment["HILLCLIMB_FORK_SERVER"] = socket
                break
            if self.server.poll() is not None:
                break
        for line in (self.work / "fork-server.log").read_text().splitlines():
            if line.startswith("fork server"):
                say("  " + line)
        say("fork server ready" if "HILLCLIMB_FORK_SERVER" in self.environment else "no fork server: every worker imports")

    def pack(self):
        """One archive of everything but compiled kernels."""
        out = pathlib.Path(self.options.out)
        out.mkdir(parents=True, exist_ok=True)
        query = "name,uuid,driver_version,power.limit,temperature.gpu,clocks.sm,memory.used"
        if shutil.which("nvidia-smi"):
            facts = subprocess.run(["nvidia-smi", "--query-gpu=" + query, "--format=csv"], capture_output=True, text=True)
            (self.work / "device.csv").write_text(facts.stdout + facts.stderr)
        self.log.flush()
        with tarfile.open(out / "helion.tar.xz", "w:xz", preset=1) as archive:
            for path in sorted(self.work.rglob("*")):
                inside = path.relative_to(self.work)
                if path.is_file() and inside.parts[0] != "cache" and "build" not in inside.parts:
                    archive.add(path, arcname=str(inside))
        say(f"packed {(out / 'helion.tar.xz').stat().st_size >> 10} KiB")


def shapes(artifacts):
    """Entries of the goal by variant; none before there is a goal."""
    try:
        goal = json.loads((artifacts / "goal.json").read_text())
    except (OSError, ValueError):
        return {}
    return {shape["name"]: shape for shape in goal["shapes"]}


def variant(run, artifacts, name):
    """First numbers, then confirming pairs. False when no GPU is free."""
    options = run.options
    task = ["--artifacts", str(artifacts)]
    if not shapes(artifacts).get(name, {}).get("evidence"):
        run.command(run.program, "start", options.task, "--variant", name, *task)
        if not (artifacts / "goal.json").exists():
            return False
    if not shapes(artifacts).get(name, {}).get("evidence"):
        say(f"{name} got no numbers")
        return True
    run.command(run.program, "verify", options.task, "--variant", name, "--pairs", str(options.pairs), *task)
    if run.left() > 0:
        (run.work / f"done-{name}").touch()
    return True


def climb(run):
    """Every variant at once, those of each GPU one after the other; then the verdict and the report."""
    artifacts = run.work / "artifacts"
    wanted = [word for name in run.options.variants.split() for word in ("--variant", name)]
    run.command(run.program, "climb", run.options.task, *wanted, "--pairs", str(run.options.pairs), "--artifacts", str(artifacts),
                limit_s=max(30, run.left() - 30))
    if (artifacts / "goal.json").exists():
        run.command(run.program, "check", str(artifacts / "goal.json"), limit_s=15)
        run.command(run.program, "report", "--artifacts", str(artifacts), limit_s=15)


def campaign(run):
    """Variants until the time is over, then the other backend, the verdict and the report."""
    options = run.options
    artifacts = run.work / "artifacts"
    asks_cute = bool(options.cute_task) and not (run.work / "cute" / "goal.json").exists()
    longest, reserve = 60.0, 75 if asks_cute else 20
    for name in options.variants.split():
        if (run.work / f"done-{name}").exists():
            continue
        if run.left() - reserve < 0.9 * longest:
            say(f"{name} is left for another call: {run.left():.0f} s are left, the longest so far took {longest:.0f} s")
            continue
        begun = time.monotonic()
        if not variant(run, artifacts, name):
            say("no goal came of it; stopping here")
            return
        longest = max(longest, time.monotonic() - begun)
    if asks_cute and run.left() > 40:
        run.command(run.program, "start", options.cute_task, "--variant", "sm4", "--artifacts", str(run.work / "cute"),
                    limit_s=max(30, run.left() - 20))
    for folder in (artifacts, run.work / "cute"):
        if (folder / "goal.json").exists():
            run.command(run.program, "check", str(folder / "goal.json"), limit_s=15)
            run.command(run.program, "report", "--artifacts", str(folder), limit_s=15)


def main():
    """Parses options; whatever happens, what there is is packed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="folder with hillclimb and libhillclimb_timer.so")
    parser.add_argument("--site", default="/tmp/site", help="folder with the Python packages")
    parser.add_argument("--out", required=True)
    parser.add_argument("--work", default="/tmp/hillclimb-helion", help="kept between calls")
    parser.add_argument("--task", default="tasks/helion-softmax.toml")
    parser.add_argument("--cute-task", default="tasks/helion-cute-softmax.toml", help="empty: none")
    parser.add_argument("--variants", default="sm4 sm1 sm2 sm3 sm5 sm6 sm8 sm7")
    parser.add_argument("--climb", action="store_true", help="one `hillclimb climb` over all GPUs that there are, in place of start and verify")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--budget-s", type=float, default=540)
    run = Run(parser.parse_args())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    try:
        run.start_server()
        (climb if run.options.climb else campaign)(run)
    finally:
        if run.server and run.server.poll() is None:
            run.server.terminate()
        run.pack()


if __name__ == "__main__":
    main()
