# SPDX-License-Identifier: Apache-2.0
"""Plans in heaps that peers map are right between processes, whatever buffers each rank gives from call to call."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

PROGRAM = str(Path(tutti.EXECUTABLE).with_name("mapped_over_mpi"))


@tutti.needs_mpi
class MappedOverMpi(unittest.TestCase):
    def test_is_right_for_every_algorithm(self):
        for ranks in (2, 3, 4, 5, 8):
            with self.subTest(ranks):
                done = subprocess.run([tutti.MPI_RUN, str(ranks), PROGRAM], capture_output=True, text=True, timeout=110,
                                      check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN)
                self.assertEqual((done.returncode, done.stdout, done.stderr),
                                 (0, f"{ranks} processes, 0 choices and 0 elements are wrong\n", ""))


if __name__ == "__main__":
    unittest.main()
