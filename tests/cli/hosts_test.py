# SPDX-License-Identifier: Apache-2.0
"""Several hosts by scripts/testhosts: UCX and hybrid are right, with MPI and with a rendezvous, and a lost rank is named."""
import re
import signal
import subprocess
import sys
import unittest

import tutti
from job import descendants, name_of, wait_until
from tutti import COLLECTIVES, QUICK

TEST_HOSTS = tutti.ROOT / "scripts/testhosts"
TIME_OUT, RANK_LOST, USAGE, SKIPPED = 4, 5, 64, 77
OVER_UCX = ("--transport", "ucx")
OVER_HYBRID = ("--transport", "hybrid")
NETWORK = "mpi" if tutti.transport_missing("ucx") else "ucx"  # between the hosts
AS_RANK = ("sh", "-c", 'exec "$@" --rendezvous tcp://h0:29511 --rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} '
           "--size ${OMPI_COMM_WORLD_SIZE:-$PMI_SIZE}", "sh")

# Packets by eth1 go to a card that does not exist. The MPI library connects by eth0.
LOSE_PACKETS_OF_ETH1 = "".join(f"ip neigh replace 10.78.0.{host} lladdr 02:00:00:00:00:99 dev eth1; " for host in (1, 2))
AS_RANK_THAT_LOSES_THEM = ("sh", "-c", LOSE_PACKETS_OF_ETH1 + 'OMPI_MCA_btl_tcp_if_include=eth0 exec "$@"', "sh")

# In long calls, so that most of the time is spent in one.
LONG_CALLS = ("--algo", "ring", "--counts", "1,16000000", "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0)


def bench(hosts, collective, *words, launched_as=()):
    return subprocess.run([TEST_HOSTS, *map(str, hosts), "--", *launched_as, tutti.EXECUTABLE, "bench", collective, "--baseline", "none",
                           *map(str, words)], capture_output=True, text=True, check=False, timeout=200, stdin=subprocess.DEVNULL,
                          env=tutti.CLEAN)


class AcrossHosts(unittest.TestCase):
    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(tutti.ALL_RIGHT, done.stdout)

    def lose_host(self, fault, *words, ranks_per_host=1, links=1, **more):
        """The code and standard error of a job one of whose hosts is harmed."""
        done = bench(("--ranks-per-host", ranks_per_host, "--links", links, "--after", "3s", fault), "all_reduce", *LONG_CALLS, *words, **more)
        return done.returncode, done.stderr


@tutti.needs_ucx
class OverMpi(AcrossHosts):
    def test_every_algorithm_is_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                self.check(bench((), collective, "--counts", "0,1,5,1001,100000", *OVER_UCX, *QUICK))

    def test_tcp_joins_the_hosts_and_shared_memory_the_ranks_of_each(self):
        done = bench((), "all_reduce", "--counts", 1, "--algo", "ring", *OVER_UCX, *QUICK)
        self.check(done)
        self.assertRegex(done.stdout, r"(?m)^# transport ucx:.*rank 0 to 1 by (posix|sysv)/memory cma/memory(;|$)")
        self.assertRegex(done.stdout, r"(?m)^# transport ucx:.*rank 0 to 2 by tcp/eth0(;|$)")

    def test_large_messages_are_divided_among_the_links_of_a_host(self):
        for transport in ("ucx", "hybrid"):
            with self.subTest(transport):
                done = bench(("--links", 2, "--counters"), "all_reduce", "-b", "2M", "-e", "2M", "--algo", "ring,two-level,multi-rail",
                             "--transport", transport, "-n", 8, "--limits", "none")
                self.check(done)
                self.assertRegex(done.stdout, rf"(?m)^# transport {transport}: .*tcp/eth0; .*also by eth1$")
                sent = [int(re.search(rf"# h0 eth{link}: sent (\d+) ", done.stdout)[1]) for link in (0, 1)]
                self.assertLess(abs(sent[0] - sent[1]), 0.05 * sum(sent), sent)

    def test_a_lost_host_ends_the_job_before_the_deadline(self):
        # The launcher may be the first to notice, and end the rank that would report the loss.
        for fault in ("power off h1", "reset h1"):
            with self.subTest(fault):
                code, stderr = self.lose_host(fault, *OVER_UCX, "-T", "60s")
                self.assertEqual(code, RANK_LOST, stderr)
                self.assertRegex(stderr, r"rank [01] \(ucx\)|on node h1")

    def test_a_link_that_carries_nothing_from_the_start_is_not_used(self):
        for transport in ("ucx", "hybrid"):
            with self.subTest(transport):
                done = bench(("--links", 2, "--counters"), "all_reduce", "-b", "64K", "-e", "1M", "-f", 16, "--algo", "ring",
                             "--transport", transport, "-n", 8, "--limits", "none",
                             launched_as=AS_RANK_THAT_LOSES_THEM)
                self.check(done)
                self.assertRegex(done.stdout, rf"(?m)^# transport {transport}: .*tcp/eth0")
                self.assertNotIn("also by", done.stdout)

    def test_one_link_of_two_that_is_down_ends_the_job_at_the_deadline(self):
        code, stderr = self.lose_host("link down h1:eth1", *OVER_UCX, "-T", "1s", links=2)
        self.assertIn(code, (TIME_OUT, RANK_LOST), stderr)
        self.assertRegex(stderr, r"(?m)^tutti: rank [01] .*rank [01]")

    def test_a_link_that_is_down_ends_the_job_at_the_deadline(self):
        # Before the launcher notices, some 4 s after the fault (scripts/lib/mpi.sh).
        code, stderr = self.lose_host("link down h1", *OVER_UCX, "-T", "1s")
        self.assertIn(code, (TIME_OUT, RANK_LOST), stderr)
        self.assertRegex(stderr, r"(?m)^tutti: rank [01] .*rank [01]")


@tutti.needs_mpi
class Hybrid(AcrossHosts):
    def test_every_algorithm_is_right_over_ucx_and_over_mpi(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                self.check(bench((), collective, "--counts", "0,1,5,1001,100000", "--transport", "hybrid,hybrid-mpi", *QUICK))

    def test_is_right_in_any_placement(self):
        """Ranks go to the hosts in turn, or in another order."""
        for hosts in (("--ranks-per-host", 3, "--map", "node"), ("--hosts", 3)):
            for collective in ("all_reduce", "all_to_all"):
                with self.subTest(hosts=hosts, collective=collective):
                    self.check(bench(hosts, collective, "--counts", "1,3001", *OVER_HYBRID, *QUICK, "--order-by", "naive,topology"))

    def test_is_right_for_every_type_and_in_place(self):
        for dtype in ("half", "double", "int8"):
            with self.subTest(dtype):
                self.check(bench((), "all_reduce", "--counts", "1,5,3001", "-d", dtype, "--inplace", "both", *OVER_HYBRID, *QUICK))

    def test_says_which_way_messages_go(self):
        done = bench((), "all_reduce", "--counts", 1, "--algo", "ring", *OVER_HYBRID, *QUICK)
        self.check(done)
        self.assertRegex(done.stdout, rf"(?m)^# transport hybrid: .*\b{NETWORK}\b")

    def test_is_left_out_where_no_two_ranks_share_a_host(self):
        done = bench(("--ranks-per-host", 1), "all_reduce", "--counts", 1, *QUICK)
        self.check(done)
        self.assertIn("hybrid left out", done.stdout)


# Calls begin at deadlines, without a barrier between them. The root, rank 0, sends to all ranks in one step.
@tutti.needs_mpi
class HarmedOverHybrid(tutti.Folder):
    CALLS = ("broadcast", "--algo", "linear", "--sync", "deadline", "--batch-time", "20s", "--counts", "1,16000000",
             "--inplace", "no", "-c", 0, "-n", 120, "-w", 0)

    def harm(self, timeout, **what):
        """Harms a host, or ranks, in calls of the second point. Returns the exit code and standard error of the job."""
        for _ in range(4):  # on busy cores the ranks may still measure their clocks, which is reported otherwise
            code, said = self.harm_once(timeout, **what)
            if "was measured" not in said:
                break
        return code, said

    def harm_once(self, timeout, fault=None, stop=(), kill=(), **environment):
        file, log, now = (self.folder / name for name in ("job.jsonl", "job.err", "now"))
        for path in (file, now):
            path.unlink(missing_ok=True)
        with open(log, "w", encoding="utf-8") as stderr, subprocess.Popen(
                [TEST_HOSTS, *(("--after", f"{now}:1", fault) if fault else ()), "--", tutti.EXECUTABLE, "bench",
                 *map(str, self.CALLS), "--baseline", "none", *OVER_HYBRID, "-T", f"{timeout}s", "--json", file],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, env=tutti.CLEAN | environment) as job:
            wait_until(lambda: tutti.points(file) or job.poll() is not None, "the first point is measured")
            self.assertIsNone(job.poll(), log.read_text(encoding="utf-8"))
            ranks = {process.rank(): process for process in descendants(job.pid) if name_of(process) == "tutti"}
            busy_since = ranks[0].cpu_seconds()
            wait_until(lambda: ranks[0].cpu_seconds() - busy_since > 0.3, "the second point is under way")
            for rank in stop:
                ranks[rank].kill(signal.SIGSTOP)
            for rank in kill:
                ranks[rank].kill(signal.SIGKILL)
            now.write_text("\n", encoding="utf-8")
            code = job.wait(timeout=50)
        said = log.read_text(encoding="utf-8")
        self.assertEqual(len(re.findall(rf"(?m)^testhosts: {fault} at ", said)), 1 if fault else 0, said)
        self.assertNotIn("left on", said)  # a process, or a file in /dev/shm
        return code, said

    def check_reports(self, said, expected):
        """The ranks that report first name a peer for which they may wait, and the way that the two hosts allow.

        By memory the root waits after its last step. Ranks that wait for the root may report before it does."""
        reports = re.findall(r"(?m)rank (\d) waited 5 s .*\(hybrid\), step [01] .* (\d) by ([^,\n]+)", said)
        self.assertTrue(reports, said)
        for rank, peer, way in reports:
            self.assertIn((int(rank), int(peer)), expected, said)
            self.assertEqual(way, "shared memory" if int(rank) // 2 == int(peer) // 2 else NETWORK, said)

    def test_a_stopped_rank_is_named_at_the_deadline(self):
        for victim in (1, 2):
            with self.subTest(victim=victim):
                code, said = self.harm(5, stop=[victim])
                self.assertIn(code, (TIME_OUT, RANK_LOST), said)
                self.check_reports(said, {(0, victim), *((rank, 0) for rank in (1, 2, 3) if rank != victim)})
                self.assertRegex(said, rf"(?m)^tutti: rank {victim} \(process \d+ on h{victim // 2}\) (is|has been) stopped")

    def test_a_link_that_is_down_ends_the_job_at_the_deadline(self):
        # Without its probes the launcher does not notice, and nothing that is said on h1 arrives.
        code, said = self.harm(5, fault="link down h1", OMPI_MCA_oob_tcp_keepalive_time="0")
        self.assertIn(code, (TIME_OUT, RANK_LOST), said)
        self.check_reports(said, {(0, 2), (0, 3), (1, 0)})

    def test_a_lost_host_ends_the_job_before_the_deadline(self):
        # The launcher may be the first to notice, and end the ranks that would report the loss.
        code, said = self.harm(60, fault="power off h1")
        self.assertEqual(code, RANK_LOST, said)
        self.assertRegex(said, rf"(?m)^tutti: rank [01] lost rank [23] \({NETWORK}\)|on node h1")

    def test_a_host_whose_ranks_are_killed_ends_the_job_before_the_deadline(self):
        code, said = self.harm(60, kill=[2, 3])
        self.assertEqual(code, RANK_LOST, said)
        self.assertRegex(said, r"(?m)^tutti: rank [23] \(process \d+ on h1\) .*signal 9")


@tutti.needs_ucx
class OfARendezvous(AcrossHosts):
    def test_every_collective_is_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                done = bench((), collective, "--counts", "0,1,1001,50000", *QUICK, launched_as=AS_RANK)
                self.check(done)
                self.assertRegex(done.stdout, "# 4 ranks, .* rendezvous")

    def test_a_lost_host_is_named(self):
        code, stderr = self.lose_host("power off h1", "-T", "30s", launched_as=AS_RANK)
        self.assertNotEqual(code, 0)
        self.assertRegex(stderr, r"(?m)^tutti: rank 0 .*rank 1|on node h1")


def main():
    """Runs the tests, or ends with exit code 77 and the reason if there can be no hosts."""
    probe = subprocess.run([TEST_HOSTS, "--on", "h0", "--", "true"], capture_output=True, text=True, check=False, timeout=60)
    if probe.returncode == SKIPPED or (probe.returncode == USAGE and "only root" in probe.stderr):
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main()


if __name__ == "__main__":
    main()
