"""What a worker lists of its code, with stand-ins for the objects in which frameworks keep compiled kernels."""

import os
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from hillclimb_worker import listing  # noqa: E402
from hillclimb_worker.adaptors import Subject  # noqa: E402


class CompiledKernel:
    """As Triton keeps one: stages by name."""

    def __init__(self, name, asm):
        self.name = name
        self.asm = asm


class StaticallyLaunchedCudaKernel:
    """As inductor keeps one: bytes, or a path."""

    def __init__(self, name, cubin):
        self.name = name
        self.cubin_raw = cubin


class Listing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        os.environ.pop(listing.CUTE_FOLDER, None)
        self.folder.cleanup()

    def listed(self, subject):
        """Kind, name and bytes of what is written, and the reply."""
        reply = listing.write(subject, self.folder.name)
        return [(f["kind"], f["name"], pathlib.Path(f["path"]).read_bytes()) for f in reply["files"]], reply

    def test_kernels_source_and_dumps_are_written_once_each(self):
        """Two objects with the same stages are one kernel."""
        kept = [CompiledKernel("rows", {"ptx": ".version 8.5", "cubin": b"rows"}) for _ in range(2)]
        kept.append(StaticallyLaunchedCudaKernel("triton_per/0", b"static"))
        kept.append(CompiledKernel("odd", None))
        dumps = pathlib.Path(self.folder.name, "dumps")
        dumps.mkdir()
        (dumps / "cute.ptx").write_text(".version 8.6")
        (dumps / "cute.txt").write_text("no code")
        os.environ[listing.CUTE_FOLDER] = str(dumps)
        files, reply = self.listed(Subject(None, None, source=lambda: "def rows(x): ..."))
        self.assertEqual(files[0], ("source", "kernel", b"def rows(x): ..."))
        self.assertEqual(sorted(files[1:]), [("cubin", "rows", b"rows"), ("cubin", "triton_per/0", b"static"), ("ptx", "cute", b".version 8.6"),
                                             ("ptx", "rows", b".version 8.5")])
        self.assertEqual(reply["missing"], "")
        del kept

    def test_what_cannot_be_listed_is_said(self):
        """A library's kernels, and a source whose making fails."""

        def fails():
            raise ValueError("no config")

        files, reply = self.listed(Subject(None, None, source=fails))
        self.assertEqual(files, [])
        self.assertIn("ValueError: no config", reply["missing"])
        self.assertIn("no kernel was compiled", reply["missing"])


class Loaded(unittest.TestCase):
    """Which modules a process has, as the record keeps them."""

    def test_files_of_no_package_are_named_and_packages_summed_up(self):
        """The standard library is neither."""
        from hillclimb_worker import __main__ as worker

        with tempfile.TemporaryDirectory() as folder:
            site, checkout = pathlib.Path(folder, "site"), pathlib.Path(folder, "checkout")
            for where, name in ((site, "brought"), (checkout, "mine")):
                where.mkdir()
                (where / f"hc_{name}.py").write_text("")
            (site / "hc_brought-1.5.dist-info").mkdir()
            (site / "hc_brought-1.5.dist-info" / "RECORD").write_text("hc_brought.py,sha256=x,0\n")
            (site / "hc_other-2.dist-info").mkdir()
            (site / "hc_other-2.dist-info" / "RECORD").write_text("hc_other.py,sha256=x,0\n")
            before = list(sys.path)
            sys.path[:0] = [str(site), str(checkout)]
            try:
                import hc_brought  # noqa: F401
                import hc_mine  # noqa: F401

                found = worker.loaded()
            finally:
                sys.path[:] = before
                for name in ("hc_brought", "hc_mine"):
                    sys.modules.pop(name, None)
            self.assertIn(str(checkout / "hc_mine.py"), found["files"])
            self.assertFalse([f for f in found["files"] if f.endswith(("hc_brought.py", "unittest/__init__.py"))])
            rows = {row["name"]: row for row in found["packages"]}
            self.assertEqual(rows["hc_brought"]["version"], "1.5")
            self.assertEqual(len(rows["hc_brought"]["sha256"]), 64)
            self.assertNotIn("hc_other", rows, "nothing of it is loaded")


class Edited(unittest.TestCase):
    """An edited source is loaded in place of what Helion generates."""

    def test_the_function_keeps_its_name(self):
        """Another name is refused."""
        from hillclimb_worker.adaptors import Unsupported, helion_ops

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "kernel.py")
            path.write_text("def rows(x):\n    return 2 * x\n")
            self.assertEqual(helion_ops.edited(str(path), "rows")(21), 42)
            with self.assertRaises(Unsupported):
                helion_ops.edited(str(path), "columns")

    def test_helion_runs_it_with_the_pinned_config(self):
        """With a stand-in for the package: the config is pinned, the function that runs is the edited one."""
        from hillclimb_worker.adaptors import helion_ops

        class Config:
            """A config as text."""

            @staticmethod
            def from_json(text):
                """From JSON."""
                made = Config()
                made.text = text
                return made

            def to_json(self):
                """As JSON."""
                return self.text

        class Kernel:
            """One kernel, bound to whatever it is given."""

            name = "rows"
            kernel = property(lambda self: self)

            def bind(self, _args):
                """Itself."""
                return self

            def set_config(self, config):
                """Kept."""
                self.config = config

            def to_triton_code(self, config):
                """A text."""
                return f"# {config.text}\ndef rows(x):\n    return x\n"

            def __call__(self, x):
                return x

        sys.modules["helion"] = types.SimpleNamespace(Kernel=Kernel, Config=Config)
        self.addCleanup(sys.modules.pop, "helion")
        helion_ops_version, helion_ops.version = helion_ops.version, lambda: "0"
        self.addCleanup(setattr, helion_ops, "version", helion_ops_version)
        backend = os.environ.get("HELION_BACKEND")
        self.addCleanup(lambda: os.environ.update(HELION_BACKEND=backend) if backend else os.environ.pop("HELION_BACKEND", None))
        with tempfile.TemporaryDirectory() as folder:
            user, edit = pathlib.Path(folder, "user.py"), pathlib.Path(folder, "edit.py")
            user.write_text("import helion\nrows = helion.Kernel()\n")
            edit.write_text("def rows(x):\n    return x + 1\n")
            options = {"kernel": f"{user}:rows", "config": {"w": 4}}
            plain = helion_ops.build("helion-triton", "", [1], options)
            plain.launch()
            self.assertEqual((plain.outputs(), plain.config), ([1], {"w": 4}))
            self.assertIn('{"w": 4}', plain.source())
            other = helion_ops.build("helion-triton", "", [1], {**options, "source": str(edit)})
            other.launch()
            self.assertEqual((other.outputs(), other.config), ([2], {"w": 4}))
            self.assertIn("edited source", other.detail)
            self.assertIn("x + 1", other.source())
            launch, outputs = other.again([5])
            launch()
            self.assertEqual(outputs(), [6], "copies of the inputs run the edited one too")

class Discovered(unittest.TestCase):
    """What hello offers is what prepare accepts."""

    def hello(self, kind, gpu):
        """The reply where everything is installed, with a stand-in for PyTorch."""
        from hillclimb_worker import __main__ as main, adaptors

        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: gpu))
        module = types.SimpleNamespace(version=lambda: "1", DEVICES=("cuda", "cpu"))
        with unittest.mock.patch.dict(sys.modules, torch=torch), unittest.mock.patch.object(adaptors, "module_of", lambda _name: module):
            return main.Worker(kind).hello({"op": "hello", "protocol": 1, "discover": True})

    def test_without_a_gpu_everything_is_missing_with_the_reason(self):
        """And with one, or on the CPU, nothing is."""
        self.assertEqual(self.hello("cuda", True)["missing"], [])
        self.assertEqual(self.hello("cpu", False)["missing"], [])
        refused = self.hello("cuda", False)
        self.assertEqual(refused["offers"], [])
        self.assertEqual(len(refused["missing"]), len(self.hello("cuda", True)["offers"]))
        for row in refused["missing"]:
            self.assertIn("sees no CUDA device", row["reason"])


class Pins(unittest.TestCase):
    """The versions that were seen to work together."""

    def test_help_names_the_versions_of_the_list(self):
        """Every package that an implementation needs stands in scripts/device/peers.txt, with the same version."""
        from hillclimb_worker import adaptors

        listed = (pathlib.Path(__file__).resolve().parents[3] / "scripts" / "device" / "peers.txt").read_text().splitlines()
        for name in adaptors.IMPLEMENTATIONS:
            self.assertIn(adaptors.help_for(name).removeprefix("pip install "), listed)


class Searched(unittest.TestCase):
    """Which searches of Helion count as full, with a stand-in for the package."""

    def tuned(self, settings=None, environment=None, inherited=None, tune_s=0):
        """The report and the detail of a search under these settings and variables."""
        from hillclimb_worker.adaptors import helion_ops

        class Kernel:
            """Its own bound kernel, tuned at once."""

            name = "rows"
            kernel = property(lambda self: self)

            def __init__(self):
                self.settings = types.SimpleNamespace(**settings) if settings is not None else None

            def bind(self, _args):
                """Itself."""
                return self

            def autotune(self, _args):
                """A config."""
                return types.SimpleNamespace(to_json=lambda: "{}")

            def set_config(self, _config):
                """Nothing is kept."""

            def __call__(self, x):
                return x

        helion = types.SimpleNamespace(Kernel=Kernel)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HELION_")}
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(sys.modules, helion=helion), \
                unittest.mock.patch.object(helion_ops, "version", lambda: "0"), \
                unittest.mock.patch.dict(os.environ, {**kept, **(inherited or {})}, clear=True):
            user = pathlib.Path(folder, "user.py")
            user.write_text("import helion\nrows = helion.Kernel()\n")
            options = {"kernel": f"{user}:rows", "tune_s": tune_s, "environment": environment}
            made = helion_ops.build("helion-triton", "", [1], options)
        return made.tune, made.detail

    def test_a_search_as_it_stands_is_cold_and_full(self):
        """Also under variables that only print, and with the limit that was asked for."""
        plain = {"autotune_effort": "full", "autotune_max_generations": None, "autotune_config_overrides": {}, "autotune_cache": "LocalAutotuneCache"}
        quiet = {"HELION_PRINT_OUTPUT_CODE": "1", "HELION_LOGS": "all", "HELION_BACKEND": "cute", "HELION_CACHE_DIR": "/nowhere", "HELION_AUTOTUNE_EFFORT": ""}
        for case in ({"settings": plain}, {"settings": {}}, {}, {"settings": plain, "inherited": quiet}, {"environment": {"HELION_AUTOTUNE_LOG_LEVEL": 0}},
                     {"settings": {**plain, "autotune_budget_seconds": 30}, "tune_s": 30}):
            with self.subTest(**case):
                report, detail = self.tuned(**case)
                self.assertTrue(report["cold"] and report["full"], report)
                self.assertNotIn("not a full search", detail)

    def test_whatever_makes_it_less_is_named(self):
        """By the decorator, by the recipe, or by whoever started the worker."""
        cases = (
            ({"settings": {"autotune_effort": "none"}}, "autotune_effort is 'none'"),
            ({"settings": {"autotune_effort": "quick"}}, "autotune_effort is 'quick'"),
            ({"settings": {"autotune_max_generations": 2}}, "autotune_max_generations is 2"),
            ({"settings": {"autotune_budget_seconds": 30}}, "autotune_budget_seconds is 30"),
            ({"settings": {"autotune_budget_seconds": 5}, "tune_s": 30}, "autotune_budget_seconds is 5"),
            ({"settings": {"autotune_config_overrides": {"num_warps": 4}}}, "autotune_config_overrides is {'num_warps': 4}"),
            ({"settings": {"disable_autotuner_heuristics": True}}, "disable_autotuner_heuristics is True"),
            ({"settings": {"autotuner_fn": self.tuned}}, "a tuner of its own, tuned"),
            ({"inherited": {"HELION_CAP_AUTOTUNE_NUM_NEIGHBORS": "2"}}, "HELION_CAP_AUTOTUNE_NUM_NEIGHBORS=2"),
            ({"inherited": {"HELION_DISABLE_AUTOTUNER_HEURISTICS": "1"}}, "HELION_DISABLE_AUTOTUNER_HEURISTICS=1"),
            ({"inherited": {"HELION_OF_TOMORROW": "1"}}, "HELION_OF_TOMORROW=1"),
            ({"environment": {"HELION_AUTOTUNE_EFFORT": "quick"}}, "HELION_AUTOTUNE_EFFORT=quick"),
            ({"environment": {"SOMETHING_ELSE": 1}}, "SOMETHING_ELSE=1"),
        )
        for case, why in cases:
            with self.subTest(**case):
                report, detail = self.tuned(**case)
                self.assertEqual((report["cold"], report["full"]), (True, False))
                self.assertIn("; not a full search: ", detail)
                self.assertIn(why, detail)

    def test_a_cache_of_somebody_is_not_cold(self):
        """A recipe that names one has it read."""
        self.assertFalse(self.tuned(environment={"HELION_SKIP_CACHE": ""})[0]["cold"])
        self.assertFalse(self.tuned(environment={"TRITON_CACHE_DIR": "/nowhere"})[0]["cold"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
