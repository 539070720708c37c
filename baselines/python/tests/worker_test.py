"""The Python worker as a user installs it, and its PyTorch subjects on the CPU where PyTorch is installed."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
HAS_TORCH = importlib.util.find_spec("torch") is not None
FAKES = os.environ.get("HILLCLIMB_FAKE_LIBRARIES")
HELLO = {"op": "hello", "protocol": 1, "discover": True}
BYE = {"op": "bye"}


def talk(command, requests, **environment):
    """Replies of a fresh worker; its status must be 0 and every line on standard output a reply."""
    lines = "".join(json.dumps(r) + "\n" if not isinstance(r, str) else r + "\n" for r in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=200, env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"status {done.returncode}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Installed(unittest.TestCase):
    """pip install into a fresh environment, without any dependency."""

    @classmethod
    def setUpClass(cls):
        """Makes the environment; skips where Python cannot make one or pip cannot build."""
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        # The copy keeps the build's leftovers out of the tree.
        shutil.copytree(PACKAGE, root / "source", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        made = subprocess.run([sys.executable, "-m", "venv", str(root / "venv")], capture_output=True, text=True)
        if made.returncode != 0:
            raise unittest.SkipTest("python3 -m venv does not work here: " + (made.stdout + made.stderr)[-300:])
        cls.bin = root / "venv" / "bin"
        pip = [cls.bin / "python", "-m", "pip", "install", "-q", "--no-index", root / "source"]
        built = subprocess.run(pip, capture_output=True, text=True)
        if built.returncode != 0:
            raise AssertionError("pip could not install the worker: " + built.stderr[-2000:])

    @classmethod
    def tearDownClass(cls):
        """Removes the environment."""
        cls.folder.cleanup()

    def test_the_command_and_the_module_answer_alike(self):
        """Without PyTorch everything is missing, and the reply says how to get it."""
        for command in ([self.bin / "hillclimb-python-worker"], [self.bin / "python", "-m", "hillclimb_worker"]):
            hello, bye = talk(command, [HELLO, BYE], PYTHONPATH="")
            self.assertTrue(hello["ok"] and bye["ok"])
            self.assertEqual(hello["offers"], [])
            helps = {row["implementation"]: row["help"] for row in hello["missing"]}
            self.assertEqual(helps["torch-eager"], "pip install torch==2.11.0")
            self.assertEqual(helps["quack"], "pip install quack-kernels==0.6.5")
            self.assertEqual(helps["flash-attention-4"], "pip install flash-attn-4==4.0.0b36")

    def test_what_is_missing_or_wrong_is_refused_and_the_worker_lives_on(self):
        """A refusal per bad request, in order."""
        prepare = {"op": "prepare", "implementation": "liger", "operation": "softmax", "args": ["f32[4,4]"]}
        replies = talk(
            [self.bin / "hillclimb-python-worker"],
            [{"op": "hello", "protocol": 2}, prepare, {**prepare, "implementation": "mine"}, "nonsense", {"op": "dance"}, {"op": "check"}, BYE],
            PYTHONPATH="",
        )
        self.assertIn("protocol 1, not 2", replies[0]["message"])
        self.assertEqual((replies[1]["code"], replies[1]["help"]), ("NotAvailable", "pip install torch==2.11.0"))
        self.assertIn("no implementation `mine`", replies[2]["message"])
        self.assertFalse(replies[3]["ok"])
        self.assertIn("`dance`", replies[4]["message"])
        self.assertFalse(replies[5]["ok"])
        self.assertTrue(replies[6]["ok"])


# Every layout on rows of 33 numbers, then one that the library refuses.
SOFTMAX = """
import array, ctypes, json, math, random
from hillclimb_worker import cudnn_library as library
rows, columns = 5, 33
draw = random.Random(1)
x, dy = (array.array("f", (draw.gauss(0, 1) for _ in range(rows * columns))) for _ in "xd")
at = lambda a: a.buffer_info()[0]
worst = 0
for layout in library.LAYOUTS:
    y, dx = array.array("f", [math.nan] * len(x)), array.array("f", [math.nan] * len(x))
    made = library.Softmax(layout, rows, columns, "float32", None)
    made.forward(at(x), at(y))
    made.backward(at(dy), at(y), at(dx))
    for r in range(0, len(x), columns):
        powers = [math.exp(v) for v in x[r:r + columns]]
        want = [p / sum(powers) for p in powers]
        along = sum(w * d for w, d in zip(want, dy[r:r + columns]))
        for i in range(columns):
            worst = max(worst, abs(y[r + i] - want[i]), abs(dx[r + i] - want[i] * (dy[r + i] - along)))
try:
    library.Softmax("instance, row in C", rows, columns, "float16", None)
    refusal = ""
except library.CudnnError as error:
    refusal = str(error)
print(json.dumps([worst, library.load().cudnnGetVersion(), refusal]))
"""


class CudnnLibrary(unittest.TestCase):
    """cuDNN's softmax through ctypes, without a GPU and without PyTorch."""

    def softmax(self, **environment):
        """What the script prints."""
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **environment}
        return subprocess.run([sys.executable, "-B", "-c", SOFTMAX], capture_output=True, text=True, env=environment, timeout=60)

    @unittest.skipUnless(FAKES, "HILLCLIMB_FAKE_LIBRARIES names no folder with the stand-in of cuDNN")
    def test_every_layout_gives_the_softmax_and_its_gradient(self):
        """Against the definition; the arguments arrive at their places."""
        done = self.softmax(LD_LIBRARY_PATH=FAKES)
        self.assertEqual(done.returncode, 0, done.stderr)
        worst, version, refusal = json.loads(done.stdout)
        self.assertLess(worst, 1e-6)
        self.assertEqual(version, 90000)
        self.assertEqual(refusal, "cudnnSetTensor4dDescriptor: CUDNN_STATUS_OF_THE_STAND_IN")


class Choice(unittest.TestCase):
    """Among several ways to do a call."""

    def test_the_fastest_way_is_taken_and_a_pinned_one_again(self):
        """A reported config pins the same way; one that is not there is refused by name, and ways that fail are left out."""
        sys.path.insert(0, str(PACKAGE))
        from hillclimb_worker import adaptors

        def broken():
            raise RuntimeError("too wide")

        ways, real = {"slow": lambda: 0.2, "fast": lambda: 0.1, "broken": broken}, adaptors.milliseconds
        adaptors.milliseconds = lambda launch: launch()
        try:
            name, search = adaptors.choose(ways, None, True)
            self.assertEqual((name, search["milliseconds"]), ("fast", {"slow": 0.2, "fast": 0.1}))
            self.assertIn("too wide", search["left_out"]["broken"])
            self.assertEqual(adaptors.choose(ways, {"config": "slow"}, True), ("slow", None))
            self.assertEqual(adaptors.choose(ways, None, False), ("slow", None))
            with self.assertRaisesRegex(adaptors.Unsupported, "no config 'none'; there are slow, fast, broken"):
                adaptors.choose(ways, {"config": "none"}, True)
            with self.assertRaisesRegex(RuntimeError, "too wide"):
                adaptors.choose({"a": broken, "b": broken}, None, True)
        finally:
            adaptors.milliseconds = real
            sys.path.remove(str(PACKAGE))


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed: pip install torch")
class OnTheCpu(unittest.TestCase):
    """PyTorch's subjects with tensors on the CPU."""

    command = [sys.executable, "-m", "hillclimb_worker", "--device", "cpu"]
    environment = {"PYTHONPATH": str(PACKAGE)}

    def prepare(self, operation, *args, **more):
        """A request."""
        return {"op": "prepare", "implementation": "torch-eager", "operation": operation, "args": list(args), "seed": 7, **more}

    def test_every_operation_agrees_with_float64(self):
        """On odd sizes and all floating types."""
        x, w = "{d}[37,65]", "{d}[65]"
        calls = [("softmax", x), ("softmax_bwd", x, x + "=softmax_like"), ("rms_norm", x, w, "1e-5"), ("layer_norm", x, "[65]", w, w, "1e-5"),
                 ("cross_entropy", x, "i64[37]=range(0,65)"), ("cross_entropy_grad", x, "i64[37]=range(0,65)"), ("sum", x, "-1"),
                 ("add", x, x), ("copy", x), ("swiglu", x, x), ("geglu", x, x), ("exp", x), ("gemm_nn", "{d}[37,65]", "{d}[65,24]"),
                 ("gemm_nt", "{d}[37,65]", "{d}[24,65]"), ("attention", "{d}[2,4,33,16]", "{d}[2,2,33,16]", "{d}[2,2,33,16]", "true")]
        requests = [HELLO]
        for d in ("f32", "bf16"):
            for name, *args in calls:
                requests += [self.prepare(name, *(a.format(d=d) for a in args)), {"op": "check"}]
        replies = talk(self.command, [*requests, BYE], **self.environment)
        for request, reply in zip(requests, replies):
            self.assertTrue(reply["ok"], (request, reply))
            if request["op"] == "check":
                self.assertEqual((reply["verdict"]["wrong"], reply["verdict"]["nonfinite"]), (0, 0), (request, reply))

    def test_inputs_have_the_hash_that_the_cpp_worker_gives(self):
        """The same texts and seed: the value was read from the C++ worker's reply."""
        _, made, _ = talk(self.command, [HELLO, self.prepare("softmax", "f32[128,256]", threads=1), BYE], **self.environment)
        self.assertEqual(made["inputs_sha256"], "c64cc76b17a837b9a0e24bf630d320502809e216982aaf7a61b0c862fbb0e02c")
        self.assertEqual(made["threads"], 1)

    def test_what_needs_a_gpu_says_so(self):
        """By name."""
        replies = talk(self.command, [HELLO, self.prepare("softmax", "f32[4,4]", implementation="quack"), BYE], **self.environment)
        self.assertFalse(replies[1]["ok"])
        self.assertEqual(replies[1]["code"], "NotAvailable")

    @unittest.skipUnless(os.environ.get("HILLCLIMB_TIMER"), "HILLCLIMB_TIMER does not name the timer's library")
    def test_blocks_are_timed_by_the_shared_timer(self):
        """Readings add up to what was asked for."""
        requests = [HELLO, self.prepare("softmax", "f32[512,512]", threads=1), {"op": "time", "blocks": 3, "min_block_s": 0.002}, BYE]
        timed = talk(self.command, requests, **self.environment)[2]
        self.assertEqual((timed["clock"], len(timed["blocks"])), ("monotonic", 3))
        for block in timed["blocks"]:
            self.assertGreaterEqual(sum(block["seconds"]), 0.002)
            self.assertEqual(len(block["seconds"]), block["launches"])

    @unittest.skipUnless(os.environ.get("HILLCLIMB_TIMER"), "HILLCLIMB_TIMER does not name the timer's library")
    def test_launches_in_a_row_go_over_copies_that_exceed_the_cache(self):
        """In both ways in which a copy is made, and the copy that was launched last is the one looked at."""
        row = {"op": "time", "blocks": 2, "min_block_s": 0.002, "mode": "back_to_back", "flush_bytes": 1 << 20}
        look = {"op": "check", "run": False}
        requests = [HELLO, self.prepare("softmax", "f32[64,64]", threads=1), row, look, self.prepare("softmax", "f32[4,4]", threads=1), row,
                    self.prepare("softmax", "f32[512,512]", threads=1), row, {**row, "mode": "single"}, BYE]
        replies = talk(self.command, requests, **self.environment)
        timed, looked = replies[2], replies[3]
        self.assertTrue(timed["ok"], timed)
        self.assertEqual((timed["mode"], timed["copies"]), ("back_to_back", 33))  # 32 KiB go 32 times into 1 MiB
        for block in timed["blocks"]:
            self.assertEqual(len(block["seconds"]), 1)
            self.assertGreater(block["launches"], 1)
        self.assertEqual((looked["verdict"]["wrong"], looked["outputs"][0]["nan_count"]), (0, 0), looked)
        self.assertFalse(replies[5]["ok"])
        self.assertIn("8193 copies", replies[5]["message"])
        self.assertEqual(replies[7]["copies"], 1)
        self.assertNotIn("copies", replies[8])

    @unittest.skipUnless(importlib.util.find_spec("triton"), "Triton is not installed: pip install triton")
    def test_triton_kernels_agree_with_float64_in_its_interpreter(self):
        """The kernels' arithmetic, without a GPU."""
        calls = [("softmax", "bf16[12,257]"), ("add", "f16[10001]", "f16[10001]"), ("layer_norm", "f32[12,257]", "[257]", "f32[257]", "f32[257]", "1e-5")]
        requests = [HELLO]
        for name, *args in calls:
            requests += [self.prepare(name, *args, implementation="triton"), {"op": "check"}]
        replies = talk(self.command, [*requests, BYE], TRITON_INTERPRET="1", **self.environment)
        for request, reply in zip(requests, replies):
            self.assertTrue(reply["ok"], (request, reply))
            if request["op"] == "check":
                self.assertEqual((reply["verdict"]["wrong"], reply["verdict"]["nonfinite"]), (0, 0), (request, reply))


if __name__ == "__main__":
    unittest.main(verbosity=2)
