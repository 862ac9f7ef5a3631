# SPDX-License-Identifier: Apache-2.0
"""Faults that the loopback transport makes on request end in exit code 2 (wrong result) or 4 (a rank gave up)."""
import tempfile
import unittest
from pathlib import Path

import tutti

WRONG, TIME_OUT = 2, 4
CASES = [("all_reduce", "ring"), ("broadcast", "tree"), ("all_gather", "bruck"), ("scatter", "tree")]
SHORT, LONG = "0.2s", "15s"


def run_with(fault, collective, algorithm, deadline, *words):
    return tutti.run("bench", collective, "--algo", algorithm, "--ranks", 3, "--transport", "loopback",
                     "--baseline", "none", "--fault", fault, "-T", deadline, "--counts", 60,
                     "--inplace", "no", "-n", 20, "-w", 0, *words, timeout=40)


class Faults(unittest.TestCase):
    def assert_wrong(self, done):
        self.assertEqual(done.returncode, WRONG, done.stdout + done.stderr)
        rows = [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]
        wrong = sum(int(row[8]) for row in rows)
        self.assertGreater(wrong, 0, done.stdout)
        self.assertIn(f" {wrong} FAILED\n", done.stdout)

    def assert_gave_up(self, done, collective, algorithm):
        self.assertEqual(done.returncode, TIME_OUT, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"\Atutti: rank [012] .*(barrier in {collective}|{collective} {algorithm} \(loopback\), step \d).* ranks? [012]")

    # Each fault in each algorithm: tests/collectives/faults_test.cpp.
    def test_that_lose_messages_end_by_the_deadline_and_name_the_step(self):
        for fault, case in zip(("drop:from=0", "stop:from=0", "delay:from=0", "drop:from=0"), CASES):
            with self.subTest(fault=fault, case=case):
                self.assert_gave_up(run_with(fault, *case, SHORT), *case)

    def test_that_damage_messages_are_wrong_results(self):
        self.assert_wrong(run_with("corrupt", *CASES[0], LONG))

    def test_that_damage_messages_end_the_launch_as_not_ok(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "r.jsonl"
            ends = []
            for check in ("1", "0"):  # without the check nothing is known to be wrong
                run_with("corrupt", "all_reduce", "ring", LONG, "--json", file, "-c", check)
                ends.append(tutti.records(file)[-1])
        self.assertEqual([(end["kind"], end["ok"]) for end in ends], [("end", False), ("end", True)])

    # All later messages are one place late. If none follows, the last one is never received.
    def test_that_double_a_message_are_one_or_the_other(self):
        done = run_with("double:from=0", *CASES[0], SHORT)
        if done.returncode == TIME_OUT:
            self.assert_gave_up(done, *CASES[0])
        else:
            self.assert_wrong(done)

    def test_that_spare_the_first_calls_are_seen_in_the_last(self):
        # One-shot sends two messages a call, so that the first five calls are sound.
        self.assert_wrong(run_with("corrupt:nth=10", "all_reduce", "one-shot", LONG))

    def test_are_no_fault_without_a_check_of_results(self):
        done = run_with("corrupt", "all_reduce", "ring", LONG, "-c", 0)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_that_only_delay_for_a_while_do_no_harm(self):
        done = run_with("delay:ms=5", *CASES[0], LONG)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(tutti.ALL_RIGHT, done.stdout)


if __name__ == "__main__":
    unittest.main()
