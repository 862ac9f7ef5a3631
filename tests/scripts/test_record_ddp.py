# SPDX-License-Identifier: Apache-2.0
"""The recorder of traces: on a real run where PyTorch is installed; its refusals anywhere."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "workloads/traces/recorded/small_network.py"
HAS_TORCH = importlib.util.find_spec("torch") is not None


def run(*words):
    clean = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return subprocess.run([sys.executable, "-B", str(ROOT / "scripts/record_ddp"), *map(str, words)], capture_output=True,
                          text=True, timeout=120, check=False, env=clean)


class Record(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @unittest.skipUnless(HAS_TORCH, "no PyTorch (Debian: python3-torch)")
    def test_of_a_run_has_its_buckets_times_and_gradients(self):
        done = run("--out", self.folder, "--name", "net", "--iterations", 3, "--dump-gradients", 2, PROGRAM, "cnn", 14)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [json.loads(line) for line in (self.folder / "net.jsonl").read_text(encoding="utf-8").splitlines()]
        head = rows[0]
        self.assertEqual((head["schema"], head["kind"], head["world"]), ("gradtrace/1", "gradients", 2))
        self.assertEqual(rows[-1], {"line": "end", "lines": len(rows)})
        parameters = [row for row in rows if row.get("line") == "parameter"]
        self.assertEqual(len(parameters), 10)
        self.assertEqual(sorted(head["ready_order"]), list(range(10)))
        bucket, = (row for row in rows if row.get("line") == "bucket")
        self.assertEqual((bucket["numel"], bucket["params"]), (71786, head["ready_order"]))
        self.assertEqual([(row["numel"], row["elem_bytes"]) for row in rows if row.get("line") == "buffer"], [(32, 4), (1, 8)])
        iterations = [row for row in rows if row.get("line") == "iteration"]
        self.assertEqual([row["rank"] for row in iterations], [0, 0, 0, 1, 1, 1])
        for row in iterations:
            self.assertEqual(len(row["ready_us"]), 10)
            self.assertGreater(min(row["ready_us"]), 0)
            self.assertLessEqual(max(row["ready_us"]), row["backward_us"])
            call, = row["allreduce"]
            self.assertEqual(call["numel"], 71786)
            self.assertGreater(call["dur_us"], 0)
        kept = sorted(self.folder.glob("*.f32"))
        self.assertEqual([path.name for path in kept],
                         [f"net.step{step}.bucket0.rank{rank}.f32" for step in (0, 1) for rank in (0, 1)])
        contents = [path.read_bytes() for path in kept]
        self.assertEqual({len(content) for content in contents}, {4 * 71786})
        self.assertEqual(len(set(contents)), 4)  # each rank has its own before they are averaged

    @unittest.skipUnless(HAS_TORCH, "no PyTorch (Debian: python3-torch)")
    def test_of_too_few_steps_says_how_many_it_takes(self):
        done = run("--out", self.folder, PROGRAM, "mlp", 8)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "8 steps.*25")

    def test_refuses_in_one_line(self):
        for words in (("--out", self.folder, self.folder / "absent.py"), ("--out", self.folder), (PROGRAM,),
                      ("--out", self.folder, "--ranks", 0, PROGRAM)):
            done = run(*words)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (64, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
