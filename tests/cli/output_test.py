# SPDX-License-Identifier: Apache-2.0
"""What scripts read of a sweep stays where it is: the table of nccl-tests, JSON Lines, CSV."""
import csv
import re
import subprocess
import unittest
from pathlib import Path

import tutti
from tutti import QUICK

# Scripts find the columns of nccl-tests by their number or their place, so this is to the letter.
HEADER = """\
#                                                       out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""
COLUMNS = 118  # of nccl-tests; ours stand behind
FOOTER = re.compile(r"^# Out of bounds values : 0 OK\n# Avg bus bandwidth    : [0-9.e+-]+\n#\n\Z", re.MULTILINE)
NUMBER = r"\d+(\.\d+)?"
SIDE = rf"{NUMBER} {NUMBER} {NUMBER} 0"

POINT = {"v", "kind", "point", "session", "launch", "key", "mode", "def", "n", "n_invalid", "n_warm", "stop_reason",
         "t_ns", "ci95_p50_ns", "rho1", "n_slow", "algbw_GBps", "busbw_GBps", "check"}
KEY = {"coll", "impl", "algo", "transport", "dtype", "op", "root", "count", "bytes", "inplace", "buf", "nranks", "ppn"}
TIMES = {"min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd"}


def rows(table):
    return [" ".join(line.split()) for line in table.splitlines() if line.startswith(" ")]


class Table(unittest.TestCase):
    def setUp(self):
        self.table = tutti.run("bench", "all_reduce", "-b", 8, "-e", 32, "-f", 2, "--algo", "ring", "--ranks", 2,
                               "--transport", "loopback", *QUICK).stdout

    def test_has_the_columns_of_nccl_tests_and_ours_behind(self):
        self.assertIn(HEADER, "\n".join(line[:COLUMNS].rstrip() for line in self.table.splitlines()))
        self.assertEqual(len(rows(self.table)), 3)
        for row, size in zip(rows(self.table), (8, 16, 32)):
            self.assertRegex(row, rf"^{size} {size // 4} float sum -1 {SIDE} {SIDE} ring loopback N/A 1 N/A$")

    def test_ends_in_the_lines_that_scripts_look_for(self):
        self.assertRegex(self.table, FOOTER)

    def test_comes_under_the_names_of_nccl_tests_too(self):
        folder = Path(tutti.EXECUTABLE).parent
        for name, root in (("all_reduce", "sum -1"), ("alltoall", "none -1"), ("broadcast", "none 0")):
            with self.subTest(name):
                done = tutti.run("-b", 8, "-e", 8, "-c", 1, *QUICK, program=folder / f"{name}_perf")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f" float {root} ", rows(done.stdout)[0])


class Length(unittest.TestCase):
    def head(self, *words):
        """What is said before the first row of a sweep; with 2 s of each trial it would take 2 x 1 x 2 x 5 s."""
        done = tutti.run("bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none", "--ranks", 2,
                         "--counts", "1,2,3,4,5", "--target-ci", "99%", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n#\n")[0]

    def test_of_a_long_sweep_is_told_in_its_head(self):
        self.assertIn("\n# all of it takes at most about 40 s; --budget 30s shortens it", self.head("--max-time", "2s"))
        self.assertIn("\n# all of it takes at most about 30 s; a smaller --budget shortens it",
                      self.head("--max-time", "2s", "--budget", "30s"))

    def test_of_a_short_one_or_one_that_nothing_bounds_is_not(self):
        for words in (("--max-time", "0.4s"), ("--max-time", "2s", "--budget", "9s"), ("-n", 20, "--max-time", "2s")):
            self.assertNotIn("all of it takes", self.head(*words))


class ManyCandidates(tutti.Folder):
    def test_has_the_rows_of_the_fastest_and_of_all_when_asked(self):
        words = ("bench", "all_reduce", "--algo", "ring,tree,chain,linear,butterfly", "--transport", "loopback", "--baseline", "none",
                 "--counts", "16,2000", *QUICK, "--ranks", 2, "--csv", self.folder / "all.csv")
        done = tutti.run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(2 <= len(rows(done.stdout)) <= 4, done.stdout)  # of each placement the fastest
        self.assertIn("# of 5 candidates each size has the rows of the fastest", done.stdout)
        self.assertRegex(done.stdout, r"# Fastest of 5 candidates: all_reduce float sum, out of place, \w+ memory\n")
        with open(self.folder / "all.csv", encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1 + 2 * 5 * 2)  # by sizes, candidates and placements
        self.assertEqual(len(rows(tutti.run(*words, "--all-rows").stdout)), 2 * 5)


class Buffers(tutti.Folder):
    def kinds(self, *words):
        """What the table says of buffers, and what the records say."""
        file = self.folder / "r.jsonl"
        file.unlink(missing_ok=True)
        done = tutti.run("bench", "all_reduce", "-b", 8, "-e", 8, "--algo", "ring", "--ranks", 2, "--transport", "shm",
                         "--baseline", "none", "--inplace", "no", *QUICK, "--json", file, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"^# (\w+) buffers\n +8 ", done.stdout, re.MULTILINE), \
            [point["key"]["buf"] for point in tutti.points(file)]

    def test_of_two_kinds_are_distinguished(self):
        self.assertEqual(self.kinds("--buffers", "registered,unregistered"),
                         (["registered", "unregistered"], ["registered", "host"]))

    def test_of_one_kind_need_no_word_in_the_table(self):
        self.assertEqual(self.kinds(), ([], ["registered"]))
        self.assertEqual(self.kinds("--buffers", "registered"), ([], ["registered"]))
        self.assertEqual(self.kinds("--buffers", "unregistered,unregistered"), ([], ["host"]))


class Records(tutti.Folder):
    def sweep(self, *words):
        file = self.folder / "r.jsonl"
        done = tutti.run("bench", "all_reduce", "-b", 8, "-e", 32, "-f", 2, "--algo", "ring,tree", "--ranks", 2,
                         "--transport", "loopback,shm", "--baseline", "none", "-n", 7, "--json", file, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return file

    def test_describe_the_session_from_its_begin_to_its_end(self):
        session, launch, *points, end = tutti.records(self.sweep())
        self.assertEqual([record["kind"] for record in (session, launch, end)], ["session", "launch", "end"])
        self.assertEqual({record["v"] for record in (session, launch, *points, end)}, {1})
        self.assertEqual({record["session"] for record in (launch, *points, end)}, {session["id"]})
        self.assertEqual(session["argv"][:3], ["tutti", "bench", "all_reduce"])
        self.assertEqual((launch["nranks"], len(launch["ranks"])), (2, 2))
        self.assertTrue(end["ok"])

    def test_hold_a_point_for_each_candidate_size_and_placement(self):
        points = tutti.points(self.sweep())
        self.assertEqual(len(points), 3 * 2 * 2 * 2)
        self.assertEqual(len({point["point"] for point in points}), len(points))
        for point in points:
            self.assertLessEqual(POINT, point.keys())
            self.assertLessEqual(KEY, point["key"].keys())
            self.assertEqual(TIMES, point["t_ns"].keys())
            self.assertEqual((point["n"], point["stop_reason"], point["check"]["state"]), (7, "fixed_n", "ok"))

    def test_hold_samples_only_when_asked(self):
        for point in tutti.points(self.sweep()):
            self.assertNotIn("samples_ns", point)

    def test_hold_every_sample_when_asked(self):
        for point in tutti.points(self.sweep("--raw")):
            self.assertEqual(len(point["samples_ns"]), 7)
            self.assertEqual(sorted(point["samples_ns"])[3], point["t_ns"]["p50"])

    def test_are_added_to_those_of_earlier_runs(self):
        self.sweep()
        kinds = [record["kind"] for record in tutti.records(self.sweep())]
        self.assertEqual((kinds.count("session"), kinds.count("end")), (2, 2))

    def test_say_that_what_was_printed_is_lost(self):
        """Before, a table of some kB ended the run with no word in the file, a shorter one only at its end."""
        file = self.folder / "r.jsonl"
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([tutti.EXECUTABLE, "bench", "all_reduce", "-b", "8", "-e", "64", "--algo", "ring",
                                   "--ranks", "2", "--transport", "loopback", "--json", file, *tutti.QUICK],
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, env=tutti.CLEAN)
        line = "cannot write to stdout: No space left on device"
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (64, ["tutti: " + line]))
        last = tutti.records(file)[-1]
        self.assertEqual((last["kind"], last["what"], last["phase"]), ("fail", "exit", line))

    def test_as_csv_are_the_same_points(self):
        sheet = self.folder / "r.csv"
        points = tutti.points(self.sweep("-J", sheet))
        with open(sheet, encoding="utf-8", newline="") as lines:
            table = list(csv.DictReader(lines))
        self.assertEqual([row["point"] for row in table], [point["point"] for point in points])
        self.assertEqual([int(row["p50_ns"]) for row in table], [point["t_ns"]["p50"] for point in points])


if __name__ == "__main__":
    unittest.main()
