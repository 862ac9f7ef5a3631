# SPDX-License-Identifier: Apache-2.0
"""The transport ucx across hosts: right over a network, and a peer that is lost is named in time."""
import subprocess
import sys
import time
import unittest

import tutti
from tutti import COLLECTIVES, QUICK

TEST_HOSTS = tutti.ROOT / "scripts/testhosts"
USAGE, SKIPPED = 64, 77
RANK_LOST = 5

# In long calls, so that most of the time is spent in one.
LONG_CALLS = ("--counts", "1,16000000", "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0, "--max-time", "60s")


@tutti.needs_ucx
class AcrossHosts(unittest.TestCase):
    def bench(self, hosts, collective, *words):
        return subprocess.run([TEST_HOSTS, *map(str, hosts), "--", tutti.EXECUTABLE, "bench", collective,
                               "--transport", "ucx", "--baseline", "none", *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL, env=tutti.CLEAN)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("# Out of bounds values : 0 OK\n", done.stdout)

    def test_every_algorithm_is_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                self.check(self.bench((), collective, "--counts", "0,1,5,1001,100000", *QUICK))

    def test_tcp_joins_the_hosts_and_shared_memory_the_ranks_of_each(self):
        done = self.bench((), "all_reduce", "--counts", 1, "--algo", "ring", *QUICK)
        self.check(done)
        self.assertRegex(done.stdout, r"(?m)^# transport ucx: .*rank 0 to 1 by (posix|sysv)/memory cma/memory(;|$)")
        self.assertRegex(done.stdout, r"(?m)^# transport ucx: .*rank 0 to 2 by tcp/eth0(;|$)")

    def check_loss(self, fault):
        """The job's standard error; it has ended in time, with the right code."""
        began = time.monotonic()
        done = self.bench(("--ranks-per-host", 1, "--after", "3s", fault), "all_reduce", "--algo", "ring",
                          *LONG_CALLS, "-T", "30s")
        self.assertLess(time.monotonic() - began, 3 + 30)
        self.assertEqual(done.returncode, RANK_LOST, done.stdout + done.stderr)
        return done.stderr

    def test_a_host_that_is_lost_ends_the_job_before_the_deadline_and_is_named(self):
        # By the launcher where it is the first to notice: it ends the rank that would have spoken.
        self.assertRegex(self.check_loss("power off h1"), r"(?m)^tutti: rank 0 lost rank 1 \(ucx\): \S+|on node h1")

    def test_connections_that_are_reset_end_the_job_before_the_deadline(self):
        self.assertRegex(self.check_loss("reset h1"), r"lost rank [01] \(ucx\): |on node h1")

    def test_a_link_that_is_down_ends_the_job_at_the_deadline_and_names_the_peer(self):
        # Well before the launcher notices, some 4 s after the fault (scripts/lib/mpi.sh); between calls, where ranks
        # meet, waits have twice the deadline.
        done = self.bench(("--ranks-per-host", 1, "--after", "3s", "link down h1"), "all_reduce", "--algo", "ring",
                          *LONG_CALLS, "-T", "1s")
        self.assertIn(done.returncode, (4, 5), done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"(?m)^tutti: rank [01] (waited 1 s in all_reduce ring \(ucx\), .*for rank [01]$"
                                      r"|waited 2 s for .*: no answer from rank [01]$"
                                      r"|lost rank [01] \(ucx\): )")


def main():
    """The tests, or exit 77 with the reason where there can be no hosts."""
    probe = subprocess.run([TEST_HOSTS, "--on", "h0", "--", "true"], capture_output=True, text=True, check=False, timeout=60)
    if probe.returncode == SKIPPED or (probe.returncode == USAGE and "only root" in probe.stderr):
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main()


if __name__ == "__main__":
    main()
