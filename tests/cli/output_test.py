# SPDX-License-Identifier: Apache-2.0
"""The output of a sweep that scripts read: the table of nccl-tests, JSON Lines, CSV."""
import csv
import re
import subprocess
import sys
import unittest

import tutti
from tutti import QUICK

sys.path.insert(0, str(tutti.ROOT / "tests/golden"))
import golden  # noqa: E402  # pylint: disable=wrong-import-position

COLUMNS = 118  # the width of nccl-tests' columns; tutti's own follow
FOOTER = re.compile(r"^# Out of bounds values : 0 OK\n# Avg bus bandwidth    : [0-9.e+-]+\n#\n\Z", re.MULTILINE)
NUMBER = r"\d+(\.\d+)?"
SIDE = rf"{NUMBER} {NUMBER} {NUMBER} 0"

POINT = {"v", "kind", "point", "session", "launch", "key", "mode", "def", "n", "n_invalid", "n_warm", "stop_reason",
         "t_ns", "ci95_p50_ns", "rho1", "n_slow", "algbw_GBps", "busbw_GBps", "check"}
KEY = {"coll", "impl", "algo", "transport", "dtype", "op", "root", "count", "bytes", "inplace", "buf", "nranks", "ppn"}
TIMES = {"min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd"}


def rows(table):
    return [" ".join(row) for row in tutti.rows(table)]


class Table(tutti.Folder):
    def test_has_the_columns_of_nccl_tests_first(self):
        table = self.ok("bench", "all_reduce", "-b", 8, "-e", 32, "-f", 2, "--algo", "ring", "--ranks", 2, "--transport", "loopback", *QUICK)
        head = [line[:COLUMNS].rstrip() for line in table.splitlines() if re.match(r"# .*(in-place|busbw|GB/s)", line)]
        # Scripts find them by their number or their place.
        golden.expect(self, "cli/nccl_tests_columns.txt", "\n".join(head[:3]) + "\n")
        self.assertEqual(len(rows(table)), 3)
        for row, size in zip(rows(table), (8, 16, 32)):
            self.assertRegex(row, rf"^{size} {size // 4} float sum -1 {SIDE} {SIDE} ring loopback N/A 1 N/A$")
        self.assertRegex(table, FOOTER)


class Length(tutti.Folder):
    def announced(self, *words):
        """The announced time of a sweep in s; without --budget each of its 5 sizes takes up to 2 x 2 times --max-time."""
        text = self.ok("bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none", "--ranks", 2,
                       "--counts", "1,2,3,4,5", *words)
        found = re.search(r"maximum duration about (\d+) s; .*--budget", text)
        return found and int(found[1])

    def test_of_a_long_sweep_is_announced(self):
        ends = ("--target-ci", "99%")  # the calls end long before
        self.assertEqual(self.announced("--max-time", "2s", *ends), 40)
        self.assertEqual(self.announced("--max-time", "2s", "--budget", "30s", *ends), 30)

    def test_of_a_short_or_unlimited_one_is_not(self):
        for words in (("--max-time", "0.4s"), ("--max-time", "2s", "--budget", "9s"), ("-n", 20)):
            self.assertIsNone(self.announced(*words))


class ManyCandidates(tutti.Folder):
    def test_has_the_rows_of_the_fastest_and_of_all_when_asked(self):
        words = ("bench", "all_reduce", "--algo", "ring,tree,chain,linear,butterfly", "--transport", "loopback", "--baseline", "none",
                 "--counts", "16,2000", *QUICK, "--ranks", 2, "--csv", self.folder / "all.csv")
        done = tutti.run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(2 <= len(rows(done.stdout)) <= 4, done.stdout)  # the fastest of each placement
        self.assertIn("# Fastest of 5 candidates", done.stdout)
        with open(self.folder / "all.csv", encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1 + 2 * 5 * 2)  # by sizes, candidates and placements
        self.assertEqual(len(rows(tutti.run(*words, "--all-rows").stdout)), 2 * 5)


class Buffers(tutti.Folder):
    def kinds(self, *words):
        """The kinds of buffers in the table and in the records."""
        file = self.folder / "r.jsonl"
        file.unlink(missing_ok=True)
        done = tutti.run("bench", "all_reduce", "-b", 8, "-e", 8, "--algo", "ring", "--ranks", 2, "--transport", "shm",
                         "--baseline", "none", "--inplace", "no", *QUICK, "--json", file, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.findall(r"^# (\w+) buffers\n +8 ", done.stdout, re.MULTILINE), \
            [point["key"]["buf"] for point in tutti.points(file)]

    def test_of_two_kinds_are_named_in_the_table(self):
        self.assertEqual(self.kinds("--buffers", "registered,unregistered"),
                         (["registered", "unregistered"], ["registered", "host"]))

    def test_of_one_kind_are_not_named_in_the_table(self):
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
            self.assertNotIn("samples_ns", point)
            self.assertLessEqual(POINT, point.keys())
            self.assertLessEqual(KEY, point["key"].keys())
            self.assertEqual(TIMES, point["t_ns"].keys())
            self.assertEqual((point["n"], point["stop_reason"], point["check"]["state"]), (7, "fixed_n", "ok"))

    def test_hold_every_sample_when_asked(self):
        for point in tutti.points(self.sweep("--raw")):
            self.assertEqual(len(point["samples_ns"]), 7)
            self.assertEqual(sorted(point["samples_ns"])[3], point["t_ns"]["p50"])

    def test_are_added_to_those_of_earlier_runs(self):
        self.sweep()
        kinds = [record["kind"] for record in tutti.records(self.sweep())]
        self.assertEqual((kinds.count("session"), kinds.count("end")), (2, 2))

    def test_have_the_failure_if_stdout_is_full(self):
        """Before, a table of some kB ended the run without a record of the failure, a shorter one only at its end."""
        file = self.folder / "r.jsonl"
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([tutti.EXECUTABLE, "bench", "all_reduce", "-b", "8", "-e", "64", "--algo", "ring",
                                   "--ranks", "2", "--transport", "loopback", "--json", file, *tutti.QUICK],
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, env=tutti.CLEAN)
        last = tutti.records(file)[-1]
        self.assertEqual((last["kind"], last["what"]), ("fail", "exit"))
        self.assertIn("No space", last["phase"])
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (64, ["tutti: " + last["phase"]]))

    def test_as_csv_are_the_same_points(self):
        sheet = self.folder / "r.csv"
        points = tutti.points(self.sweep("-J", sheet))
        with open(sheet, encoding="utf-8", newline="") as lines:
            table = list(csv.DictReader(lines))
        self.assertEqual([row["point"] for row in table], [point["point"] for point in points])
        self.assertEqual([int(row["p50_ns"]) for row in table], [point["t_ns"]["p50"] for point in points])


if __name__ == "__main__":
    unittest.main()
