# SPDX-License-Identifier: Apache-2.0
"""Communicators over all ranks of an MPI program, and over parts of them, give right results."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

OVER_MPI = str(Path(tutti.EXECUTABLE).with_name("over_mpi"))


@tutti.needs_mpi
class OverMpi(unittest.TestCase):
    def test_is_right_in_whole_and_in_parts(self):
        for ranks in (2, 4):
            done = subprocess.run([tutti.MPI_RUN, str(ranks), OVER_MPI], capture_output=True, text=True, timeout=150,
                                  check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0 elements are wrong\n", ""))


if __name__ == "__main__":
    unittest.main()
