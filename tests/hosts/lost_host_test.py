# SPDX-License-Identifier: Apache-2.0
"""Checks that a host that is lost during a benchmark ends the job soon, with exit code 4 or 5, a line that names the lost
rank or host, and no remaining process."""
import subprocess

import testhosts
import tutti

TIME_OUT, RANK_LOST = 4, 5
DEADLINE = 8  # seconds; longer than the launcher needs to detect a host that does not answer
SWEEP = ("bench", "all_reduce", "-b", "64K", "-e", "16M", "-f", 1.05, "--algo", "ring,two-level", "--baseline", "none",
         "--max-time", "50ms")
LINES_BEFORE = 4  # session, launch and two points


@tutti.needs_mpi
class LostHost(tutti.Folder):
    def lose(self, fault, *options, transport="mpi", deadline=DEADLINE, **environment):
        """Runs a sweep with a fault. Returns exit code, messages and records."""
        file = self.folder / "job.jsonl"
        command = testhosts.command(*options, "--after", f"{file}:{LINES_BEFORE}", fault, "--", tutti.EXECUTABLE, *SWEEP,
                                    "--transport", transport, "-T", f"{deadline}s", "--json", file)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=tutti.CLEAN | environment) as job:
            said = job.communicate(timeout=100)[1]
        if job.returncode == testhosts.SKIPPED:
            self.skipTest(said.strip())
        self.assertRegex(said, rf"testhosts: {fault} at ", "fault")
        self.assertNotIn("left on", said)
        records = tutti.records(file)
        self.assertEqual([record["kind"] for record in records[:2]], ["session", "launch"])
        self.assertNotIn("end", [record["kind"] for record in records])
        return job.returncode, said, records

    def check_lost(self, fault, **how):
        code, said, records = self.lose(fault, **how)
        self.assertIn(code, (TIME_OUT, RANK_LOST), said)
        self.assertRegex(said, r"node h1|rank \d \(process \d+ on h1\)|for rank [23]")
        self.assertEqual(records[-1]["kind"], "fail", said)
        return code, said, records

    def test_by_its_power(self):
        self.check_lost("power off h1")

    def test_by_its_cable(self):
        self.check_lost("link down h1")

    def test_by_its_cable_is_named_at_the_deadline_if_the_launcher_misses_nothing(self):
        """With Open MPI's defaults mpirun would wait for the host for a quarter of an hour."""
        code, said, _ = self.lose("link down h1", deadline=2, OMPI_MCA_oob_tcp_keepalive_time="0")
        self.assertEqual(code, RANK_LOST, said)
        self.assertRegex(said, r"tutti: rank \d waited \d+(\.\d+)? s .* (for rank \d|no answer from ranks? \d)")

    def test_by_its_daemon(self):
        self.check_lost("kill daemon h1")

    def test_by_a_reset_of_all_connections(self):
        self.check_lost("reset h1")

    def test_by_a_reset_of_the_ranks_connections(self):
        self.check_lost("reset ranks h1")

    def test_with_the_launcher_on_it(self):
        """No process can report it, but nothing remains on the other host."""
        code, _, _ = self.lose("power off h0")
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    testhosts.main()
