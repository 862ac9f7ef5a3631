# SPDX-License-Identifier: Apache-2.0
"""Checks ranks on several hosts: their places, results of a collective, and exit codes."""
import os
import unittest

import testhosts
import tutti

PLACE = ("sh", "-c", "echo $(hostname) $(ls /sys/class/net) $(ls /dev/shm) .")


class Host(unittest.TestCase):
    def test_has_a_name_a_network_and_shared_memory_of_its_own(self):
        job = testhosts.run("--on", "h1", "--", *PLACE)
        self.assertEqual((job.returncode, job.stdout), (0, "h1 eth0 lo .\n"), job.stderr)

    def test_has_its_own_processes(self):
        job = testhosts.run("--on", "h1", "--", "sh", "-c", "ls /proc | grep -c '^[0-9]'")
        self.assertLess(int(job.stdout), 6)

    def test_resolves_the_other_hosts(self):
        job = testhosts.run("--on", "h0", "--hosts", 3, "--", "getent", "hosts", "h2")
        self.assertRegex(job.stdout, r"^10\.77\.0\.3 +h2$")

    def test_passes_the_exit_code_on(self):
        for code in (0, 2, 64):
            self.assertEqual(testhosts.run("--on", "h0", "--", "sh", "-c", f"exit {code}").returncode, code)

    def test_reports_leftover_processes_and_files(self):
        job = testhosts.run("--on", "h1", "--", "sh", "-c", "sleep 100 & touch /dev/shm/thing")
        self.assertEqual(job.returncode, 1)
        self.assertRegex(job.stderr, r" h1: process \d+ sleep\n")
        self.assertIn(" h1: thing in /dev/shm\n", job.stderr)


@tutti.needs_mpi
class Ranks(unittest.TestCase):
    def places(self, *options):
        job = testhosts.run(*options, "--", "hostname")
        self.assertEqual(job.returncode, 0, job.stderr)
        return sorted(job.stdout.split())

    def test_are_on_all_hosts(self):
        self.assertEqual(self.places("--hosts", 3), ["h0", "h0", "h1", "h1", "h2", "h2"])
        self.assertEqual(self.places("--hosts", 2, "--map", "node"), ["h0", "h0", "h1", "h1"])

    def test_pass_the_exit_code_on(self):
        # Open MPI waits twice this time before it kills the other ranks; here they end by themselves.
        at_once = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
        for code in (2, 4, 5, 64):
            self.assertEqual(testhosts.run("--", "sh", "-c", f"exit {code}", **at_once).returncode, code)

    def test_reduce_across_hosts(self):
        job = testhosts.run("--", tutti.EXECUTABLE, "bench", "all_reduce", "--algo", "ring,two-level", "-b", 1024,
                            "-e", "64K", "-f", 64, *tutti.QUICK)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("# host h1:", job.stdout)
        self.assertIn("# Out of bounds values : 0 OK", job.stdout)


class Refusal(unittest.TestCase):
    def check(self, *words, says, code=testhosts.USAGE):
        job = testhosts.run_or_fail(*words)
        self.assertEqual((job.returncode, job.stdout), (code, ""), job.stderr)
        self.assertEqual(job.stderr.count("\n"), 1, job.stderr)
        self.assertIn(says, job.stderr)

    def test_is_one_line(self):
        self.check("--rate", "fast", "--", "true", says="'fast'")
        self.check("--rate-of", "h7=1gbit", "--", "true", says="no host 'h7'")
        self.check("--links", 2, "--after", "1s", "link down h1:eth2", "--", "true", says="no link 'eth2'")
        self.check("--after", "1s", "reset h1:eth0", "--", "true", says="use 'reset h1'")
        self.check("--links", 9, "--", "true", says="the most is 8")
        self.check("--rate-of", "1gbit", "--", "true", says="1gbit")
        self.check("--after", "1s", "flood h1", "--", "true", says="'flood h1'")
        self.check("--delay=-1us", "--", "true", says="delay")
        self.check("--clock-offset", "h1=-5s", "--", "true", says="--clock-offset")
        self.check("--hosts", "0", "--", "true", says="'0'")
        self.check(says="no command")

    def test_without_root(self):
        job = testhosts.run("--on", "h0", "--", "true")
        self.assertEqual(job.returncode, 0)
        if os.geteuid() == 0:
            self.check_as_nobody()

    def check_as_nobody(self):
        job = testhosts.subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", *testhosts.command("--", "true")],
                                       capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(job.returncode, testhosts.USAGE, job.stderr)
        self.assertIn("only root", job.stderr)

    def test_of_namespaces_is_exit_77(self):
        job = testhosts.subprocess.run(["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin",
                                        *testhosts.command("--on", "h0", "--", "true")],
                                       capture_output=True, text=True, check=False, timeout=30)
        self.assertEqual(job.returncode, testhosts.SKIPPED, job.stderr)
        self.assertIn("no namespaces for h0", job.stderr)


if __name__ == "__main__":
    testhosts.main()
