# SPDX-License-Identifier: Apache-2.0
"""Wrong input under mpirun is refused by one rank in one line, and no rank waits for another."""
import unittest

import tutti
from tutti import QUICK

USAGE = 64


@tutti.needs_mpi
class Refusal(tutti.Folder):
    def refused(self, *words, key):
        self.fails(USAGE, "bench", *words, *QUICK, key=key, run=lambda *all_words: tutti.run_ranks(3, *all_words, timeout=30))

    def test_is_reported_by_one_rank_if_all_see_it(self):
        self.refused("all_reduce", "--algo", "rng", key="'ring'")
        self.refused("broadcast", "-r", 9, key="-r 9")
        self.refused("all_reduce", "--ranks", 2, key="3 processes")

    def test_ends_all_ranks_if_only_the_first_sees_it(self):
        self.refused("all_reduce", "--json", self.file("letter.txt", "Dear reader,\n"), key="letter.txt")
        self.refused("all_reduce", "--json", "/dev/full", key="No space")

    def test_names_a_launcher_of_another_mpi(self):
        # Simulates MPICH's mpiexec that starts a program linked to Open MPI.
        self.fails(USAGE, "bench", "all_reduce", *QUICK, key="another MPI", PMI_RANK="0", PMI_SIZE="4")


class AddressSpace(tutti.Folder):
    # hwloc and UCX do not check what malloc returns: before, this was signal 11.
    @unittest.skipIf(tutti.SANITIZED, "sanitizers need terabytes of address space")
    def test_that_is_too_small_is_refused(self):
        self.fails(USAGE, "-c", 'ulimit -v 350000; exec "$@"', "limited", tutti.EXECUTABLE, "bench", "all_reduce", "--ranks", 4, *QUICK,
                   key="384 MiB", run=lambda *words: tutti.run(*words, program="bash"))


if __name__ == "__main__":
    unittest.main()
