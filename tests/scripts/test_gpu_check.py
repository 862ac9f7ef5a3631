#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu_check without a GPU, and with tools that only pretend to be there."""
import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POINT = ('{"v":1,"kind":"point","key":{"algo":"ring","nranks":2,"bytes":8192},'
         '"t_ns":{"p50":5000},"busbw_GBps":1.5,"check":{"state":"ok","n_wrong":0}}')


def write_tool(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tools, self.build, self.out = (Path(self.folder.name) / name for name in ("tools", "build", "out"))
        for folder in (self.tools, self.build):
            folder.mkdir()
        write_tool(self.tools, "nvcc", "echo 'release 13.0'")
        write_tool(self.tools, "nvidia-smi", "echo 'No devices were found'")
        write_tool(self.tools, "cmake", "echo 'gpu_sweep: phony'")
        write_tool(self.tools, "compute-sanitizer", "exit 0")
        write_tool(self.build, "gpu_sweep", f"echo '{POINT}'")

    def run_it(self, *arguments, **settings):
        environment = {**os.environ, **settings, "PATH": f"{self.tools}:{os.environ['PATH']}", "OUT": str(self.out),
                       "CUDACXX": str(self.tools / "nvcc"), "TUTTI_GPU_BUILD": str(self.build)}
        return subprocess.run([ROOT / "scripts/gpu_check", *arguments], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def pretend_a_gpu(self):
        write_tool(self.tools, "nvidia-smi", "echo 'NVIDIA Pretended'")

    def test_no_gpu_is_one_line_that_says_what_to_type(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 64)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("no GPU here", done.stderr)
        self.assertIn("--build-only", done.stderr)

    def test_what_is_no_option_is_refused(self):
        done = self.run_it("--fast")
        self.assertEqual(done.returncode, 64)
        self.assertIn("usage:", done.stderr)

    def test_build_only_needs_no_gpu_and_runs_nothing(self):
        done = self.run_it("--build-only")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("would run", done.stdout)
        self.assertFalse((self.out / "sweep-2.jsonl").exists())

    def test_results_and_a_table_are_left(self):
        self.pretend_a_gpu()
        done = self.run_it()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((self.out / "sweep-8.jsonl").read_text().strip(), POINT)
        table = (self.out / "summary.txt").read_text()
        for words in ("NVIDIA Pretended", "memcheck", "racecheck", "sweep-4", "ring"):
            self.assertIn(words, table)

    def test_steps_without_time_are_a_failure(self):
        self.pretend_a_gpu()
        write_tool(self.tools, "compute-sanitizer", "sleep 4")
        done = self.run_it(TUTTI_GPU_SECONDS="8")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("left out", done.stdout)

    def test_what_cannot_be_packed_is_a_failure(self):
        write_tool(self.tools, "cp", "exit 1")
        there = ROOT / ".gpu-libraries"
        if there.exists():
            self.skipTest(f"{there} is there, and would be removed")
        done = self.run_it("--pack")
        self.assertIn(done.returncode, (1, 64), done.stdout)  # 64: this machine has no libraries
        self.assertNotIn("packed into", done.stdout)
        self.assertFalse(there.exists())

    def test_what_the_sanitizer_finds_is_wrong(self):
        self.pretend_a_gpu()
        write_tool(self.tools, "compute-sanitizer", "exit 2")
        done = self.run_it()
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("WRONG", done.stdout)

    def test_a_build_that_fails_ends_it(self):
        self.pretend_a_gpu()
        write_tool(self.tools, "cmake", "echo 'error: no'; exit 1")
        done = self.run_it()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertFalse((self.out / "sweep-2.jsonl").exists())


if __name__ == "__main__":
    unittest.main()
