#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: inspect_device_code_test.py NVCC [-v]: plants what inspect_device_code.py must find."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

INSPECTOR = Path(__file__).with_name("inspect_device_code.py")
NVCC = "nvcc"

GOOD = """
__global__ void pass(uint4* to, const uint4* from) { to[threadIdx.x] = from[threadIdx.x]; }
"""
NARROW = """
__global__ void pass(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
"""
# The index is known when it runs: the array cannot be in registers.
SPILLED = """
__global__ void pass(uint4* to, const uint4* from, const int* order) {
    uint4 held[16];
    for (int i = 0; i < 16; ++i) held[order[i]] = from[i];
    for (int i = 0; i < 16; ++i) to[i] = held[order[i + 16]];
}
"""


def inspect(source: str, *options: str, arch: int = 90) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "planted.cu")
        code.write_text(source)
        made = Path(folder, "planted.o")
        subprocess.run([NVCC, "-c", "--no-compress", f"-arch=sm_{arch}", str(code), "-o", str(made)],
                       check=True)
        return subprocess.run([sys.executable, INSPECTOR, str(made), *options], text=True,
                              capture_output=True, check=False)


class Inspector(unittest.TestCase):
    def test_wide_accesses_pass_on_both_architectures(self):
        for arch in (80, 90):
            answer = inspect(GOOD, "--arch", str(arch), arch=arch)
            self.assertEqual(answer.returncode, 0, answer.stdout)
            self.assertIn(f"sm_{arch}: 1 kernels", answer.stdout)

    def test_narrow_accesses_are_faults(self):
        answer = inspect(NARROW)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("no LDG.128", answer.stdout)
        self.assertIn("no STG.128", answer.stdout)

    def test_local_memory_is_a_fault(self):
        for arch in (80, 90):
            answer = inspect(SPILLED, arch=arch)
            self.assertEqual(answer.returncode, 1)
            self.assertIn("used (STL)", answer.stdout)

    def test_a_missing_kernel_or_architecture_is_a_fault(self):
        self.assertEqual(inspect(GOOD, "--arch", "80").returncode, 1)
        self.assertEqual(inspect(GOOD, "--arch", "90", "--kernels", "other").returncode, 1)
        self.assertEqual(inspect(GOOD, "--arch", "90", "--at-least", "2").returncode, 1)


if __name__ == "__main__":
    NVCC = sys.argv.pop(1)
    unittest.main()
