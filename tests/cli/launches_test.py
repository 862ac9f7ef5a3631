# SPDX-License-Identifier: Apache-2.0
"""bench --launches and workload --launches: fresh processes each, one table, intervals between launches."""
import re
import tempfile
import unittest
from pathlib import Path

import tutti

OK, WRONG, USAGE = 0, 2, 64
BENCH = ("bench", "all_reduce", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none", "--counts", "16,64",
         "-n", 20)


def of_kind(file, kind):
    return [record for record in tutti.records(file) if record["kind"] == kind]


class Launches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "r.jsonl")

    def test_of_a_bench_are_processes_of_their_own_and_one_table(self):
        done = tutti.run(*BENCH, "--ranks", 2, "--launches", 3, "--json", self.file)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        self.assertIn("3 launches of 2 ranks", done.stdout)
        rows = re.findall(r"^ +(\d+) +\d+ +float .* (ring|tree) +shm +(\S+) +(\d+)", done.stdout, re.M)
        self.assertEqual(rows, [(size, algorithm, "N/A", "3") for size in ("64", "256") for algorithm in ("ring", "tree")])
        launches = of_kind(self.file, "launch")
        self.assertEqual(len(launches), 3)
        self.assertEqual(len({launch["ranks"][0]["pid"] for launch in launches if "pid" in launch["ranks"][0]}) or 3, 3)
        seeds = {session["seed"] for session in of_kind(self.file, "session")}
        self.assertEqual(len(seeds), 3)
        points = of_kind(self.file, "point")
        for together in of_kind(self.file, "point_over_launches"):
            medians = sorted(point["t_ns"]["p50"] for point in points if point["key"] == together["key"])
            self.assertEqual((together["n_launch"], together["n"], together["t_ns"]["p50"]), (3, 3, medians[1]))
        self.assertEqual(len(of_kind(self.file, "point_over_launches")), 8)

    @tutti.needs_mpi
    def test_are_started_by_the_launcher_that_is_named(self):
        done = tutti.run(*BENCH, "--launches", 2, "--launcher", f"{tutti.MPI_RUN} 2", "--json", self.file, timeout=120)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        self.assertEqual([launch["nranks"] for launch in of_kind(self.file, "launch")], [2, 2])

    def test_how_far_they_are_is_said_without_a_terminal(self):
        slow = "sh -c 'sleep 3.5; exec \"$@\"' sh"
        done = tutti.run(*BENCH, "--launches", 2, "--launcher", slow)
        self.assertEqual((done.returncode, done.stderr), (OK, "tutti: launch 2 of 2\n"), done.stdout)

    def test_of_a_workload(self):
        done = tutti.run("workload", "ddp", "--scale", "small", "--algo", "ring", "--transport", "shm", "--baseline", "none",
                         "--ranks", 2, "--min-steps", 5, "--max-time", "0.1s", "--launches", 2, "--json", self.file,
                         timeout=120)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        together, = of_kind(self.file, "step_over_launches")
        self.assertEqual((together["n_launch"], together["n"]), (2, 2))

    def test_the_interval_is_that_between_launches(self):
        done = tutti.run(*BENCH, "--ranks", 2, "--launches", 6, "--json", self.file)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        points = of_kind(self.file, "point")
        for together in of_kind(self.file, "point_over_launches"):
            medians = sorted(point["t_ns"]["p50"] for point in points if point["key"] == together["key"])
            self.assertEqual(together["ci95_p50_ns"], [medians[0], medians[-1]])

    def test_wrong_results_are_in_the_table(self):
        done = tutti.run("bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none", "--counts",
                         16, "--inplace", "no", "--fault", "corrupt", "--ranks", 2, "--launches", 3, "--json", self.file)
        self.assertEqual((done.returncode, done.stderr), (WRONG, ""), done.stdout)
        self.assertIn("Out of bounds values : ", done.stdout)
        together, = of_kind(self.file, "point_over_launches")
        self.assertEqual(together["check"]["n_wrong"],
                         sum(point["check"]["n_wrong"] for point in of_kind(self.file, "point")))

    def test_a_table_that_cannot_be_written_is_refused_before_any(self):
        done = tutti.run(*BENCH, "--ranks", 2, "--launches", 2, "--json", self.file, "--csv", "/proc/no/r.csv")
        self.assertEqual((done.returncode, self.file.exists()), (USAGE, False), done.stderr)
        self.assertIn("cannot write '/proc/no/r.csv'; type another file behind --csv", tutti.said(done.stderr)[0])

    def test_what_a_launch_said_is_one_line(self):
        done = tutti.run(*BENCH, "--ranks", 2, "--launches", 2, "--no-such-option")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (USAGE, 1), done.stderr)
        done = tutti.run(*BENCH, "--ranks", 2, "--launches", 2, "--json", "/dev/full")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (USAGE, 1), done.stderr)

    def test_a_launcher_that_fails_is_no_verdict(self):
        done = tutti.run(*BENCH, "--launcher", "false", "--launches", 2)
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn("tutti: launch 1 of 2 ended with 1", done.stderr)

    def test_a_launcher_alone_is_one_launch(self):
        done = tutti.run(*BENCH, "--launcher", "env", "--ranks", 2)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("leave one of them out", tutti.said(done.stderr)[0])

    def test_earlier_records_of_the_file_do_not_count(self):
        for _ in range(2):
            done = tutti.run(*BENCH, "--ranks", 2, "--launches", 2, "--json", self.file)
            self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        self.assertEqual({one["n_launch"] for one in of_kind(self.file, "point_over_launches")}, {2})

    def test_their_file_may_stand_behind_its_letter(self):
        for words in (["-J", self.file], [f"-J{self.file}"]):
            done = tutti.run(*BENCH, "--ranks", 2, "--launches", 2, *words)
            self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        self.assertEqual(len(of_kind(self.file, "launch")), 4)

    def test_it_says_how_ranks_can_start(self):
        done = tutti.run(*BENCH, "--launches", 2)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("add --launcher 'mpirun -n 2', or --ranks 2 for threads", tutti.said(done.stderr)[0])


if __name__ == "__main__":
    unittest.main()
