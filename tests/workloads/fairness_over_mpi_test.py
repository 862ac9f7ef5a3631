# SPDX-License-Identifier: Apache-2.0
"""The MPI library's calls are measured as they are, in the buffers of all, and forced algorithms run."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

PROGRAM = str(Path(tutti.EXECUTABLE).with_name("fairness_over_mpi"))


@tutti.needs_mpi
class Fairness(unittest.TestCase):
    def run_program(self, ranks, **environment):
        done = subprocess.run([tutti.MPI_RUN, str(ranks), PROGRAM], capture_output=True, text=True, timeout=110,
                              check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN | environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_of_a_rank_alone_costs_what_the_library_costs(self):
        self.run_program(1)

    def test_gives_the_library_and_ours_the_same_buffers(self):
        self.run_program(2)

    def test_runs_the_algorithm_that_a_row_names(self):
        if "forced algorithms ran" not in self.run_program(4):
            self.skipTest("only Open MPI's algorithms are functions whose names tell them")


if __name__ == "__main__":
    unittest.main()
