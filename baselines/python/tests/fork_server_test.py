"""Workers that are forked off a server: they answer, have a process each, and end with whoever asked for them."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


class ForkServer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.folder.name, "socket")
        self.environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        words = [sys.executable, "-m", "hillclimb_worker.fork_server", self.socket, "--import", "decimal", "no_such_module"]
        self.server = subprocess.Popen(words, env=self.environment, stderr=subprocess.PIPE, text=True)
        self.said = ""
        while "ready" not in self.said:
            line = self.server.stderr.readline()
            self.assertTrue(line, self.said)
            self.said += line
        self.environment["HILLCLIMB_FORK_SERVER"] = self.socket

    def tearDown(self):
        self.server.terminate()
        self.server.wait()
        self.server.stderr.close()
        self.folder.cleanup()

    def worker(self):
        return subprocess.Popen([sys.executable, str(PACKAGE / "worker.py"), "--device", "cpu"], env=self.environment,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def forks(self):
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.server.pid)], capture_output=True, text=True)
        return listed.stdout.split()

    def test_a_fork_answers_in_the_place_of_the_worker(self):
        self.assertIn("imported decimal", self.said)
        self.assertIn("no_such_module is left out", self.said)
        worker = self.worker()
        out, _ = worker.communicate('{"op":"hello","protocol":1}\n{"op":"nonsense"}\n{"op":"bye"}\n', timeout=30)
        replies = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([r["ok"] for r in replies], [True, False, True])
        self.assertEqual(worker.returncode, 0)

    def test_each_has_a_process_and_ends_with_its_asker(self):
        first, second = self.worker(), self.worker()
        for worker in (first, second):
            worker.stdin.write('{"op":"hello","protocol":1}\n')
            worker.stdin.flush()
            self.assertIn('"ok": true', worker.stdout.readline())
        self.assertEqual(len(self.forks()), 2)
        first.kill()
        for _ in range(100):
            if len(self.forks()) == 1:
                break
            time.sleep(0.1)
        self.assertEqual(len(self.forks()), 1)
        second.communicate('{"op":"bye"}\n', timeout=30)
        self.assertEqual(second.returncode, 0)
        first.communicate()


if __name__ == "__main__":
    unittest.main()
