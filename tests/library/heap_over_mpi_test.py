# SPDX-License-Identifier: Apache-2.0
"""Runs MPI programs with the heap. Open MPI and UCX watch allocations; messages from the heap's memory must arrive. Calls of a
communicator access this memory directly."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402


@tutti.needs_ucx
class HeapOverMpi(unittest.TestCase):
    def test_results_over_each_transport_are_right(self):
        done = tutti.run_ranks(2, "bench", "all_reduce", "--algo", "ring", "--transport", "mpi,ucx,shm", "--buffers", "unregistered",
                               "-b", "64K", "-e", "16M", "-f", "16", *tutti.QUICK, LD_PRELOAD=os.environ["HEAP"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" : 0 OK", done.stdout)
        for transport in ("mpi", "ucx", "shm"):
            self.assertEqual(done.stdout.count(f"ring                          {transport} "), 3, done.stdout)


@tutti.needs_mpi
class HeapBeneathCommunicators(unittest.TestCase):
    def test_calls_in_changing_buffers_are_right(self):
        program = Path(tutti.EXECUTABLE).with_name("over_mpi")
        done = subprocess.run([tutti.MPI_RUN, "4", program], capture_output=True, text=True, timeout=150, check=False,
                              stdin=subprocess.DEVNULL,
                              env=tutti.CLEAN | {"LD_PRELOAD": os.environ["HEAP"], "TUTTI_HEAP_THRESHOLD": "4K"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0 elements are wrong\n", ""))

    def test_mapped_buffers_come_from_the_heap_that_is_there(self):
        done = tutti.run_ranks(2, "bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--buffers", "mapped,unregistered",
                               "-b", "1M", "-e", "1M", *tutti.QUICK, LD_PRELOAD=os.environ["HEAP"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" : 0 OK", done.stdout)


if __name__ == "__main__":
    unittest.main()
