# SPDX-License-Identifier: Apache-2.0
"""A candidate that is named and cannot run: the run says so and fails, unless --allow-skips is typed."""
import unittest

import tutti

OK, USAGE = 0, 64
BENCH = ("bench", "all_to_all", "--counts", 4, "--inplace", "no", *tutti.QUICK)
STEPS = ("workload", "ddp", "--scale", "small", "--step-time", "1ms", "--min-steps", 2, "-n", 2, "-w", 0)
TUNE = ("tune", "all_to_all", "-b", "1K", "-e", "1K", "--model", "none", "--hold-out", "no", "--buffers", "registered",
        "--budget", "2s")


class Skips(tutti.Folder):
    def complaint(self, *words, run=lambda *words: tutti.run(*words, "--ranks", 3)):
        """What is said of the named ones; with --allow-skips, nothing is."""
        allowed = run(*words, "--allow-skips")
        self.assertEqual(allowed.returncode, OK, allowed.stdout + allowed.stderr)
        self.assertNotIn("named, but not measured", allowed.stderr)
        done = run(*words)
        if done.returncode == OK:
            return None
        self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
        line, = (line for line in tutti.said(done.stderr) if "named" in line)
        return line

    def test_an_algorithm_that_refuses_these_ranks_fails(self):
        file = self.folder / "r.jsonl"
        line = self.complaint(*BENCH, "--algo", "bruck,butterfly", "--transport", "shm", "--baseline", "none", "--json", file)
        self.assertRegex(line, r"^tutti: named, but not measured: --algo butterfly \(butterfly \(shm\) at 48: it needs a power of "
                               r"two, .*\); leave out what cannot run here, or add --allow-skips$")
        self.assertEqual(sum("skipped" not in point for point in tutti.points(file)), 2)  # the rest is measured

    def test_what_is_measured_somewhere_is_not_skipped(self):
        named = ("--transport", "shm,loopback", "--baseline", "none")
        self.assertIsNone(self.complaint(*BENCH, "--algo", "ring,bruck", *named))
        self.assertIsNone(self.complaint(*BENCH, "--algo", "ring", *named))

    def test_nobody_is_named_by_all_or_by_default(self):
        self.assertIsNone(self.complaint(*BENCH, "--algo", "all", "--transport", "shm"))
        self.assertIsNone(self.complaint(*BENCH, "--transport", "shm"))

    def test_a_library_that_is_not_there_fails(self):
        named = (*BENCH, "--algo", "ring", "--transport", "shm", "--baseline")
        self.assertIn("--baseline mpi (mpi at 48: ", self.complaint(*named, "mpi"))
        self.assertIsNone(self.complaint(*named, "mpi,none"))

    def test_steps_of_a_workload_are_candidates_too(self):
        line = self.complaint(*STEPS, "--algo", "ring", "--transport", "shm", "--baseline", "mpi")
        self.assertIn("--baseline mpi (mpi: ", line)
        self.assertIsNone(self.complaint(*STEPS, "--algo", "auto,ring", "--transport", "shm"))

    def test_so_are_those_of_a_search(self):
        table = ("--table", self.folder / "t.json")
        line = self.complaint(*TUNE, *table, "--algo", "bruck,butterfly", "--transport", "shm", "--baseline", "none")
        self.assertRegex(line, r"--algo butterfly \(butterfly/shm: ")
        self.assertIsNone(self.complaint(*TUNE, *table, "--algo", "ring", "--transport", "shm", "--baseline", "none"))

    @tutti.needs_mpi
    def test_a_transport_of_threads_under_a_launcher_fails(self):
        line = self.complaint(*BENCH, "--algo", "ring", "--transport", "loopback", "--baseline", "mpi",
                              run=lambda *words: tutti.run_ranks(2, *words))
        self.assertIn("--algo ring, --transport loopback (ring (loopback) at 32: ", line)

    def test_nothing_at_all_stays_a_failure(self):
        done = tutti.run(*BENCH, "--ranks", 3, "--algo", "butterfly", "--transport", "shm", "--baseline", "none",
                         "--allow-skips")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("nothing was measured", done.stderr)


if __name__ == "__main__":
    unittest.main()
