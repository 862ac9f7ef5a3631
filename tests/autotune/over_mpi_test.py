# SPDX-License-Identifier: Apache-2.0
"""Communicators over all ranks of an MPI program, and over parts of them, give right results."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402


@tutti.needs_mpi
class OverMpi(unittest.TestCase):
    def test_is_right_in_whole_and_in_parts(self):
        for ranks in (2, 4):
            self.assertEqual(tutti.run_program("over_mpi", ranks, timeout=150), (0, "0 elements are wrong\n", ""))


if __name__ == "__main__":
    unittest.main()
