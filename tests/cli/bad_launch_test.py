# SPDX-License-Identifier: Apache-2.0
"""Under mpirun, too, wrong input is refused once and by one line, and no rank waits for another."""
import unittest

import tutti
from tutti import QUICK

RANKS = 3


@tutti.needs_mpi
class Refusal(tutti.Folder):
    def refused(self, *words, says):
        done = tutti.run_ranks(RANKS, *words, *QUICK, timeout=30)
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertEqual(len(tutti.said(done.stderr)), 1, done.stderr)
        self.assertIn(says, tutti.said(done.stderr)[0])

    def test_is_reported_by_one_rank_where_all_see_it(self):
        self.refused("bench", "all_reduce", "--algo", "rng", says="did you mean 'ring'?")
        self.refused("bench", "broadcast", "-r", 9, says="root 9 is not among 3 ranks")

    def test_ends_all_ranks_where_only_the_first_sees_it(self):
        letter = self.file("letter.txt", "Dear reader,\n")
        self.refused("bench", "all_reduce", "--json", letter, says="holds something else")
        self.refused("bench", "all_reduce", "--json", "/dev/full", says="No space left")

    def test_meets_threads_asked_for_beside_processes(self):
        self.refused("bench", "all_reduce", "--ranks", 2,
                     says="has started 3 processes; leave one of the two out")

    def test_meets_too_little_address_space(self):
        # hwloc and UCX do not look at what malloc returns: that was signal 11.
        if tutti.SANITIZED:
            self.skipTest("sanitizers need terabytes of address space")
        done = tutti.run("-c", 'ulimit -v 350000; exec "$@"', "limited", tutti.EXECUTABLE, "bench", "all_reduce", "--ranks", 4,
                         *QUICK, program="bash")
        self.assertEqual(done.returncode, 64, done.stderr)
        line, = tutti.said(done.stderr)
        self.assertIn("a run of 4 ranks needs 384 MiB of free address space; allow more with 'ulimit -v unlimited'",
                      line)

    def test_meets_a_launcher_of_another_mpi(self):
        # As if MPICH's mpiexec had started a program that is linked to Open MPI.
        done = tutti.run("bench", "all_reduce", *QUICK, PMI_RANK="0", PMI_SIZE="4")
        self.assertEqual(done.returncode, 64, done.stderr)
        self.assertEqual(len(tutti.said(done.stderr)), 1, done.stderr)
        self.assertIn("started 4 processes, but", done.stderr)
        self.assertIn("sees 1: tutti is linked to another MPI", done.stderr)


if __name__ == "__main__":
    unittest.main()
