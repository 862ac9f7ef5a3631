# SPDX-License-Identifier: Apache-2.0
"""Ranks of a rendezvous on several hosts: shared memory within each, UCX between them. mpirun only starts the processes there."""
import subprocess
import sys
import unittest

import tutti
from tutti import COLLECTIVES, QUICK

TEST_HOSTS = tutti.ROOT / "scripts/testhosts"
USAGE, SKIPPED = 64, 77
AS_RANK = ('exec "$@" --rendezvous tcp://h0:29511 --rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} '
           "--size ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}")


@tutti.needs_ucx
class AcrossHosts(unittest.TestCase):
    def bench(self, hosts, *words):
        return subprocess.run([TEST_HOSTS, *map(str, hosts), "--", "sh", "-c", AS_RANK, "sh", tutti.EXECUTABLE, "bench", *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=200, stdin=subprocess.DEVNULL, env=tutti.CLEAN)

    def test_every_collective_is_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                done = self.bench((), collective, "--counts", "0,1,1001,50000", "--baseline", "none", *QUICK)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("# Out of bounds values : 0 OK\n", done.stdout)
                self.assertIn("4 ranks, processes of a rendezvous", done.stdout)

    def test_a_host_that_is_lost_is_named(self):
        done = self.bench(("--ranks-per-host", 1, "--after", "3s", "power off h1"), "all_reduce", "--algo", "ring", "--counts", "1,16000000",
                          "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0, "--max-time", "60s", "--baseline", "none", "-T", "30s")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"(?m)^tutti: rank 0 lost rank 1|on node h1")


def main():
    """The tests, or exit 77 with the reason where there can be no hosts."""
    probe = subprocess.run([TEST_HOSTS, "--on", "h0", "--", "true"], capture_output=True, text=True, check=False, timeout=60)
    if probe.returncode == SKIPPED or (probe.returncode == USAGE and "only root" in probe.stderr):
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main()


if __name__ == "__main__":
    main()
