# SPDX-License-Identifier: Apache-2.0
"""Training steps: their records, and that MPI libraries take part. No time is checked."""
import unittest

import tutti

QUICK = ("--scale", "1e-4", "--step-time", "1ms", "--min-steps", 3, "-n", 3)


class Ddp(tutti.Folder):
    def steps(self, *words, run=tutti.run):
        path = self.folder / "s.jsonl"
        done = run("workload", "ddp", *words, *QUICK, "--json", path)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout + done.stderr)
        records = tutti.records(path)
        self.assertEqual([record["kind"] for record in records][:2], ["session", "launch"])
        self.assertEqual(records[-1]["kind"], "end")
        return [record for record in records if record["kind"] == "step"], done.stdout

    def test_every_method_is_in_the_table_and_in_the_records(self):
        steps, table = self.steps("--ranks", 2, "--algo", "auto,ring,two-shot", "--transport", "shm,loopback",
                                  "--baseline", "none", "--compute", "burn", "--raw")
        self.assertEqual([step["key"]["way"] for step in steps],
                         ["auto", "ring/loopback", "ring/shm", "two-shot/loopback", "two-shot/shm"])
        for step in steps:
            key = step["key"]
            self.assertEqual((key["workload"], key["model"], key["compute"], key["nranks"]),
                             ("ddp", "resnet50", "burn", 2))
            self.assertIn("scale=1e-4", key["settings"])
            self.assertEqual((step["n"], step["check"]), (3, {"state": "ok", "n_wrong": 0}))
            self.assertGreater(step["step_ns"]["p50"], 0)
            self.assertAlmostEqual(step["overlap"], 1 - step["exposed_ns"]["p50"] / step["communication_ns"]["p50"])
            self.assertEqual([len(step["samples_ns"][what]) for what in ("step", "compute", "exposed")], [3] * 3)
            self.assertIn(key["way"], table)
        self.assertIn(tutti.ALL_RIGHT, table)

    def test_a_method_that_lacks_a_collective_is_skipped_with_the_reason(self):
        steps, table = self.steps("--ranks", 2, "--algo", "ring,bruck", "--transport", "loopback", "--baseline", "none",
                                  "--allow-skips")
        self.assertIn("skipped", steps[1])
        self.assertIn("# skipped bruck/loopback: ", table)

    def test_a_method_that_fails_in_all_calls_names_no_bucket(self):
        _, table = self.steps("--ranks", 2, "--algo", "ring", "--transport", "loopback", "--baseline", "mpi", "--allow-skips")
        self.assertRegex(table, "# skipped mpi: (?!bucket)")

    def test_fewer_steps_than_the_default_minimum_are_measured(self):
        done = tutti.run("workload", "ddp", "--ranks", 2, *QUICK[:4], "-n", 2, "--algo", "ring", "--transport", "shm",
                         "--baseline", "none", "--json", self.folder / "n.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([record["n"] for record in tutti.records(self.folder / "n.jsonl") if record["kind"] == "step"], [2])

    def test_steps_that_exceed_the_time_are_reported(self):
        words = ("--ranks", 2, "--algo", "ring", "--transport", "shm", "--baseline", "none")
        _, table = self.steps(*words, "--max-time", "1ms")
        self.assertRegex(table, r"# \d+\.\d s, .*--max-time.*--min-steps")
        self.assertNotIn("--min-steps", self.steps(*words)[1].split("\n", 2)[2])

    @tutti.needs_mpi
    def test_the_librarys_collectives_take_part_blocking_and_not(self):
        steps, _ = self.steps("--algo", "ring", "--transport", "mpi", run=lambda *words: tutti.run_ranks(2, *words))
        self.assertEqual([step["key"]["way"] for step in steps], ["ring/mpi", "mpi", "mpi-nonblocking"])
        self.assertEqual([step["check"]["state"] for step in steps], ["ok"] * 3)


if __name__ == "__main__":
    unittest.main()
