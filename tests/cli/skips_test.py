# SPDX-License-Identifier: Apache-2.0
"""A candidate that is named and cannot run makes the run fail, unless --allow-skips is given."""
import unittest

import tutti

OK, USAGE = 0, 64
BENCH = ("bench", "all_to_all", "--counts", 4, "--inplace", "no", *tutti.QUICK)
STEPS = ("workload", "ddp", "--scale", "small", "--step-time", "1ms", "--min-steps", 2, "-n", 2, "-w", 0)
TUNE = ("tune", "all_to_all", "-b", "1K", "-e", "1K", "--model", "none", "--hold-out", "no", "--buffers", "registered",
        "--budget", "2s")


class Skips(tutti.Folder):
    def complaint(self, *words, run=lambda *words: tutti.run(*words, "--ranks", 3)):
        """The line about skipped candidates; with --allow-skips there is none."""
        allowed = run(*words, "--allow-skips")
        self.assertEqual(allowed.returncode, OK, allowed.stdout + allowed.stderr)
        self.assertNotIn("--allow-skips", allowed.stderr)
        done = run(*words)
        if done.returncode == OK:
            return None
        self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
        line, = (line for line in tutti.said(done.stderr) if "--allow-skips" in line)
        return line

    def test_an_algorithm_that_refuses_these_ranks_fails(self):
        file = self.folder / "r.jsonl"
        line = self.complaint(*BENCH, "--algo", "bruck,butterfly", "--transport", "shm", "--baseline", "none", "--json", file)
        self.assertRegex(line, r"--algo butterfly \(butterfly \(shm\) at 48: ")
        self.assertEqual(sum("skipped" not in point for point in tutti.points(file)), 2)  # the rest is measured

    def test_a_candidate_with_any_result_is_not_skipped(self):
        named = ("--transport", "shm,loopback", "--baseline", "none")
        self.assertIsNone(self.complaint(*BENCH, "--algo", "ring,bruck", *named))
        self.assertIsNone(self.complaint(*BENCH, "--algo", "ring", *named))

    def test_all_and_the_default_name_no_candidate(self):
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

    def test_variants_of_a_search_are_candidates_too(self):
        table = ("--table", self.folder / "t.json")
        line = self.complaint(*TUNE, *table, "--algo", "bruck,butterfly", "--transport", "shm", "--baseline", "none")
        self.assertRegex(line, r"--algo butterfly \(butterfly/shm: ")
        self.assertIsNone(self.complaint(*TUNE, *table, "--algo", "ring", "--transport", "shm", "--baseline", "none"))

    @tutti.needs_mpi
    def test_a_transport_of_threads_under_a_launcher_fails(self):
        line = self.complaint(*BENCH, "--algo", "ring", "--transport", "loopback", "--baseline", "mpi",
                              run=lambda *words: tutti.run_ranks(2, *words))
        self.assertIn("--algo ring, --transport loopback (ring", line)

    def test_nothing_at_all_stays_a_failure(self):
        done = tutti.run(*BENCH, "--ranks", 3, "--algo", "butterfly", "--transport", "shm", "--baseline", "none",
                         "--allow-skips")
        self.assertEqual(done.returncode, USAGE)
        self.assertEqual(len(tutti.said(done.stderr)), 1)


if __name__ == "__main__":
    unittest.main()
