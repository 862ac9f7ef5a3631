# SPDX-License-Identifier: Apache-2.0
"""bench --launches and workload --launches: new processes for each launch, one table, intervals between launches."""
import re
import unittest

import tutti
from tutti import of_kind

OK, WRONG, USAGE = 0, 2, 64
BENCH = ("bench", "all_reduce", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none", "--counts", "16,64",
         "-n", 20)


class Launches(tutti.Folder):
    def check_medians(self, launches):
        """A time over launches is the median of their medians."""
        points = tutti.points(self.results)
        over_launches = of_kind(self.results, "point_over_launches")
        self.assertEqual(len(over_launches), 8)
        for together in over_launches:
            medians = sorted(point["t_ns"]["p50"] for point in points if point["key"] == together["key"])
            self.assertEqual((together["n_launch"], together["n"]), (launches, launches))
            if launches % 2 == 1:
                self.assertEqual(together["t_ns"]["p50"], medians[launches // 2])
            self.assertEqual(together.get("ci95_p50_ns"), [medians[0], medians[-1]] if launches == 6 else None)

    def test_of_a_bench_are_one_table(self):
        table = self.ok(*BENCH, "--ranks", 2, "--launches", 3, "--json", self.results)
        rows = re.findall(r"^ +(\d+) +\d+ +float .* (ring|tree) +shm +(\S+) +(\d+)", table, re.M)
        self.assertEqual(rows, [(size, algorithm, "N/A", "3") for size in ("64", "256") for algorithm in ("ring", "tree")])
        self.assertEqual(len(of_kind(self.results, "launch")), 3)
        self.assertEqual(len({session["seed"] for session in of_kind(self.results, "session")}), 3)
        self.check_medians(3)

    def test_of_six_launches_the_interval_spans_all(self):
        self.ok(*BENCH, "--ranks", 2, "--launches", 6, "--json", self.results)
        self.check_medians(6)

    def test_before_in_the_same_file_do_not_count(self):
        for words in (["-J", self.results], [f"-J{self.results}"]):
            self.ok(*BENCH, "--ranks", 2, "--launches", 2, *words)
        self.assertEqual(len(of_kind(self.results, "launch")), 4)
        self.assertEqual({one["n_launch"] for one in of_kind(self.results, "point_over_launches")}, {2})

    @tutti.needs_mpi
    def test_are_started_by_the_launcher_that_is_named(self):
        self.ok(*BENCH, "--launches", 2, "--launcher", f"{tutti.MPI_RUN} 2", "--json", self.results)
        self.assertEqual([launch["nranks"] for launch in of_kind(self.results, "launch")], [2, 2])

    def test_report_their_progress_without_a_terminal(self):
        slow = f"sh -c 'mkdir {self.folder}/first && sleep 3.5; exec \"$@\"' sh"
        done = tutti.run(*BENCH, "--launches", 2, "--launcher", slow)
        self.assertEqual((done.returncode, done.stderr), (OK, "tutti: launch 2 of 2\n"), done.stdout)

    def test_of_a_workload_are_one_step(self):
        self.ok("workload", "ddp", "--scale", "small", "--algo", "ring", "--transport", "shm", "--baseline", "none", "--ranks", 2,
                "--min-steps", 5, "--max-time", "0.1s", "--launches", 2, "--json", self.results)
        together, = of_kind(self.results, "step_over_launches")
        self.assertEqual((together["n_launch"], together["n"]), (2, 2))

    def test_with_wrong_results_are_in_the_table(self):
        done = tutti.run("bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none", "--counts",
                         16, "--inplace", "no", "--fault", "corrupt", "--ranks", 2, "--launches", 3, "--json", self.results)
        self.assertEqual((done.returncode, done.stderr), (WRONG, ""), done.stdout)
        together, = of_kind(self.results, "point_over_launches")
        self.assertEqual(together["check"]["n_wrong"], sum(point["check"]["n_wrong"] for point in tutti.points(self.results)))
        self.assertEqual([end["ok"] for end in of_kind(self.results, "end")], [False] * 4)  # the launches, then the run

    def test_of_a_launcher_that_fails_give_no_verdict(self):
        done = tutti.run(*BENCH, "--launcher", "false", "--launches", 2)
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn("launch 1 of 2", done.stderr)


if __name__ == "__main__":
    unittest.main()
