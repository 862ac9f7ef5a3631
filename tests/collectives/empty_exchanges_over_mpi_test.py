# SPDX-License-Identifier: Apache-2.0
"""Nothing is exchanged by a call without bytes."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

PROGRAM = str(Path(tutti.EXECUTABLE).with_name("empty_exchanges_over_mpi"))


@tutti.needs_mpi
class EmptyExchanges(unittest.TestCase):
    def test_make_no_calls(self):
        for ranks in (2, 3):
            done = subprocess.run([tutti.MPI_RUN, str(ranks), PROGRAM], capture_output=True, text=True, timeout=110,
                                  check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"{ranks} processes, 0 calls without bytes\n", ""))


if __name__ == "__main__":
    unittest.main()
