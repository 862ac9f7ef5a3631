# SPDX-License-Identifier: Apache-2.0
"""Every algorithm over every transport gives right results, whatever the number of ranks and of
elements. CI looks at a choice; TUTTI_FULL_MATRIX=1 at everything (minutes)."""
import unittest

import tutti
from tutti import COLLECTIVES, FULL_MATRIX, QUICK

ALL_RANKS = (1, 2, 3, 4, 5, 7, 8)
RANKS = ALL_RANKS if FULL_MATRIX else (1, 2, 3, 7)
MPI_RANKS = ALL_RANKS if FULL_MATRIX else (2, 3)

# Open MPI's AVX kernels add 8- and 16-bit integers with saturation, where everyone else wraps round
# (https://github.com/open-mpi/ompi/issues/8045): as a baseline it is to use its others.
WRAPPING = {"OMPI_MCA_op": "^avx"}


class Sweep(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(tutti.ALL_RIGHT, done.stdout)
        self.assertGreater(sum(line.startswith(" ") for line in done.stdout.splitlines()), 0)

    def check_counts(self, run, ranks):
        """Counts around the number of ranks are where blocks are empty or uneven."""
        counts = ",".join(map(str, sorted({0, 1, ranks - 1, ranks, 1001})))
        roots = ("-r", "all") if FULL_MATRIX else ("-r", ranks - 1)
        for collective in COLLECTIVES:
            with self.subTest(collective=collective, ranks=ranks):
                self.check(run("bench", collective, "--counts", counts, *roots, *QUICK))

    def check_types(self, run):
        for collective in COLLECTIVES if FULL_MATRIX else ("all_reduce", "all_gather"):
            with self.subTest(collective):
                self.check(run("bench", collective, "-d", "all", "-o", "all", "--counts", 131, *QUICK))


class Threads(Sweep):
    def test_of_any_number_agree_on_any_count(self):
        for ranks in RANKS:
            self.check_counts(lambda *words, n=ranks: tutti.run(*words, "--ranks", n, timeout=300), ranks)

    def test_agree_on_every_type_and_operation(self):
        self.check_types(lambda *words: tutti.run(*words, "--ranks", 3, timeout=300))

    def test_race_every_combination_of_parameters(self):
        done = tutti.run("bench", "all_reduce", "--algo", "tree,chain", "--transport", "loopback", "--baseline", "none",
                         "--radix", "2,3", "--channels", "1,2", "--segment", "auto,1K", "--counts", 2000, *QUICK,
                         "--ranks", 4, "--all-rows")
        self.check(done)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]
        self.assertEqual([next(word for word in row if word.startswith(("tree", "chain"))) for row in rows],
                         ["tree", "tree[x2]", "tree[k3]", "tree[k3,x2]",
                          "chain[128K]", "chain[128K,x2]", "chain[1K]", "chain[1K,x2]"])


@tutti.needs_mpi
class Processes(Sweep):
    def test_of_any_number_agree_on_any_count(self):
        for ranks in MPI_RANKS:
            self.check_counts(lambda *words, n=ranks: tutti.run_ranks(n, *words, timeout=300), ranks)

    def test_agree_on_every_type_and_operation(self):
        self.check_types(lambda *words: tutti.run_ranks(3, *words, timeout=300, **WRAPPING))


if __name__ == "__main__":
    unittest.main()
