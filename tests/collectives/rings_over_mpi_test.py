# SPDX-License-Identifier: Apache-2.0
"""Messages between devices by rings in shared memory are right between processes, too."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

PROGRAM = str(Path(tutti.EXECUTABLE).with_name("rings_over_mpi"))


@tutti.needs_mpi
class RingsOverMpi(unittest.TestCase):
    def test_are_right_on_two_and_three_processes(self):
        for ranks in (2, 3):
            done = subprocess.run([tutti.MPI_RUN, str(ranks), PROGRAM], capture_output=True, text=True, timeout=110,
                                  check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{ranks} processes, 0 elements are wrong\n", ""))


if __name__ == "__main__":
    unittest.main()
