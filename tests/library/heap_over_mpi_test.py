# SPDX-License-Identifier: Apache-2.0
"""Open MPI and UCX watch where a program's memory goes: what they send out of the heap arrives right."""
import os
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
        self.assertIn("# Out of bounds values : 0 OK", done.stdout)
        for transport in ("mpi", "ucx", "shm"):
            self.assertEqual(done.stdout.count(f"ring                          {transport} "), 3, done.stdout)


if __name__ == "__main__":
    unittest.main()
