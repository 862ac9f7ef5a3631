# SPDX-License-Identifier: Apache-2.0
"""Messages between devices by rings in shared memory are right between processes, too."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402


@tutti.needs_mpi
class RingsOverMpi(unittest.TestCase):
    def test_are_right_on_two_and_three_processes(self):
        for ranks in (2, 3):
            self.assertEqual(tutti.run_program("rings_over_mpi", ranks)[::2], (0, ""))


if __name__ == "__main__":
    unittest.main()
