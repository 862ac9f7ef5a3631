# SPDX-License-Identifier: Apache-2.0
"""The comparison with the libraries, on records that the tests make themselves; nothing is measured."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
PROGRAM = SCRIPTS / "compare_libraries"
sys.path[:0] = [str(HERE), str(SCRIPTS), str(SCRIPTS / "lib")]

import synthetic  # noqa: E402
from comparison import goals, library, page, plan, summary  # noqa: E402
from folder import Folder  # noqa: E402
from plots import records  # noqa: E402


def program():
    """The command as a module: its name has no .py."""
    loader = importlib.machinery.SourceFileLoader("compare_libraries", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def point(p50, impl="tutti", algo="ring", coll="all_reduce", ranks=2, buf="registered", size=8, **changes):
    key = synthetic.key(coll, impl, algo, "shm" if impl == "tutti" else "", size)
    return {"v": 1, "kind": "point", "session": "s", "launch": 1, "key": key | {"buf": buf, "nranks": ranks},
            "n": 100, "t_ns": {"p05": p50, "p50": p50, "p95": p50, "max": p50}, "ci95_p50_ns": [p50, p50],
            "busbw_GBps": size / max(p50, 1), "check": {"state": "ok", "n_wrong": 0}} | changes


def rows_of(*points):
    def of_file(*records_):
        return [record | {"file": "f.jsonl"} for record in records_]
    return summary.summarise(SimpleNamespace(points=of_file(*points), launches=of_file(synthetic.launch_record(1)),
                                             sessions=of_file(synthetic.session()), ends=[]))


def perfect(launch):
    """Points by which a launch meets every goal: ours takes 100 ns, the library's ring 400, its default 500."""
    return [point(p50, impl, algo, launch.collective, launch.ranks, buf, size, pct_of_limit=90.0, limit_ns=90.0)
            for size in plan.SIZES for buf in ("registered", "host")
            for p50, impl, algo in ((100, "tutti", "one-shot"), (120, "tutti", "ring"), (400, "mpi", "ring"),
                                    (500, "mpi", ""))]


def write_all(folder, launches=plan.LAUNCHES):
    for launch in launches:
        lines = [synthetic.session(), synthetic.launch_record(1), *perfect(launch),
                 {"v": 1, "kind": "end", "session": "s", "launch": 1, "ok": True, "wall_ns": 2 * 10**9}]
        (folder / f"{launch.name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


class Summary(unittest.TestCase):
    def test_takes_the_fastest_of_each_side_and_the_librarys_default(self):
        row, = rows_of(point(100), point(80, algo="tree"), point(240, "mpi", ""), point(200, "mpi", "ring"))
        self.assertEqual([row[side]["algo"] for side in ("ours", "library_best", "library_default")],
                         ["tree", "ring", "default"])
        self.assertEqual((row["ratio_to_best"], row["ratio_to_default"]), (2.5, 3.0))

    def test_keeps_kinds_of_memory_sizes_ranks_and_collectives_apart(self):
        rows = rows_of(point(1), point(2, buf="host"), point(3, size=64), point(4, ranks=4), point(5, coll="gather"))
        self.assertEqual([row["ours"]["p50_ns"] for row in rows], [1, 2, 3, 4, 5])
        self.assertEqual([row["buffers"] for row in rows[:2]], ["registered", "unregistered"])

    def test_neither_a_wrong_result_nor_a_skipped_candidate_can_win(self):
        row, = rows_of(point(100), point(1, algo="tree", check={"state": "fail", "n_wrong": 1}),
                       point(0, algo="chain", skipped="too few ranks"), point(300, "mpi", ""))
        self.assertEqual(row["ours"]["algo"], "ring")
        self.assertEqual(row["wrong"], ["tutti/tree/shm"])
        self.assertEqual(row["skipped"], {"tutti/chain/shm": "too few ranks"})

    def test_has_no_ratio_without_one_of_the_sides(self):
        row, = rows_of(point(100), point(1, "mpi", "", skipped="no call began on time"))
        self.assertNotIn("ratio_to_best", row)
        self.assertNotIn("library_best", row)

    def test_sees_that_ranks_with_a_core_each_missed_their_deadlines(self):
        rows = rows_of(*(point(100, ranks=ranks, mode=mode) for mode, ranks in
                         (("deadline", 2), ("barrier", 4), ("barrier", 8))))  # on 4 cores
        self.assertEqual([row.get("disturbed", False) for row in rows], [False, True, False])
        self.assertEqual(summary.undisturbed(rows), [rows[0], rows[2]])

    def test_geometric_mean_of_a_number_and_its_inverse_is_one(self):
        self.assertAlmostEqual(summary.geometric_mean([4, 0.25]), 1)
        self.assertIsNone(summary.geometric_mean([]))


class Goals(unittest.TestCase):
    ALL = rows_of(*(point for launch in plan.LAUNCHES for point in perfect(launch)))

    def test_are_all_met_by_figures_above_their_bounds(self):
        self.assertEqual({met for _, _, met in goals.evaluated(self.ALL)}, {"yes"})

    def test_are_not_measured_without_records(self):
        self.assertEqual({met for _, _, met in goals.evaluated([])}, {"not measured"})

    def test_name_the_size_and_the_collective_that_miss(self):
        goal = goals.Goal(("reduce", "gather"), 2, "registered", 1.0)
        rows = [dict(row, ratio_to_best=0.999) if (row["coll"], row["bytes"]) == ("gather", 64) else row
                for row in self.ALL]
        self.assertEqual(goal.evaluate(rows), ("0.99 (gather, 64 B)", "no"))  # rounded down

    def test_a_mean_is_of_each_collective_apart(self):
        goal = goals.Goal(("reduce", "gather"), 2, "unregistered", 1.0, mean=True)
        rows = [dict(row, ratio_to_best=0.5) if row["coll"] == "reduce" else row for row in self.ALL]
        self.assertEqual(goal.evaluate(rows), ("0.50 (reduce)", "no"))

    def test_stay_open_while_a_size_is_missing(self):
        rows = [row for row in self.ALL if row["bytes"] != 64]
        goal = goals.Goal(("all_reduce",), 2, "registered", 1.0)
        self.assertEqual(goal.evaluate(rows)[1], "open: 1 missing or disturbed")

    def test_do_not_rest_on_disturbed_sizes(self):
        rows = [dict(row, disturbed=True, ratio_to_best=0.1) if row["bytes"] == 64 else row for row in self.ALL]
        self.assertEqual(goals.Goal(("all_reduce",), 2, "registered", 1.0).evaluate(rows),
                         ("4.00 (8 B)", "open: 1 missing or disturbed"))

    def test_a_bound_that_is_just_met_is_met(self):
        rows = [dict(row, ratio_to_best=1.8) for row in self.ALL]
        self.assertEqual(goals.Goal(("all_reduce",), 2, "registered", 1.8).evaluate(rows)[1], "yes")


class Plan(unittest.TestCase):
    def test_counts_make_the_sizes_of_nccl_tests(self):
        by_name = {launch.name: launch for launch in plan.LAUNCHES}
        self.assertEqual(by_name["all_reduce-np8"].counts()[:2], [2, 16])  # elements of the vector
        self.assertEqual(by_name["scatter-np2"].counts()[:2], [1, 8])  # elements of a block

    def test_divides_the_time_that_is_left(self):
        shares, left = [], 480
        for i, launch in enumerate(plan.LAUNCHES):
            shares.append(plan.seconds_for(launch, plan.LAUNCHES[i + 1:], left))
            left -= shares[-1]
        self.assertAlmostEqual(left, 0)
        self.assertGreater(min(shares), 30)


class Page(Folder):
    def summarise(self):
        return subprocess.run([sys.executable, PROGRAM, "--summarise", self.folder], capture_output=True, text=True,
                              check=False)

    def test_is_made_of_the_records_only(self):
        write_all(self.folder)
        done = self.summarise()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("| yes |"), len(goals.GOALS))
        text = (self.folder / "compare.md").read_text(encoding="utf-8")
        self.assertIn("# tutti against Open MPI 4.1.4", text)
        self.assertIn("| 64M | 0.10 one-shot | 0.40 ring | 4.00 | 5.00 | 90 | 0.10 one-shot |", text)
        self.assertNotIn("Caution", text)
        lines = [json.loads(line) for line in (self.folder / "compare.jsonl").read_text().splitlines()]
        kinds = [line["kind"] for line in lines]
        self.assertEqual(kinds.count("comparison"), len(plan.LAUNCHES) * len(plan.SIZES) * 2)
        self.assertEqual(kinds.count("launch"), len(plan.LAUNCHES))  # the provenance

    def test_reports_what_is_missing_or_broken(self):
        write_all(self.folder, plan.LAUNCHES[:2])
        torn = self.folder / f"{plan.LAUNCHES[1].name}.jsonl"
        torn.write_text("".join(line for line in torn.read_text().splitlines(True) if '"end"' not in line))
        self.assertEqual(self.summarise().returncode, 0)
        text = (self.folder / "compare.md").read_text(encoding="utf-8")
        self.assertIn("all_reduce-np8 did not run to its end", text)
        self.assertRegex(text, "no records of all_reduce-np4, all_gather-np2, .*gather-np2")

    def test_marks_medians_that_are_not_known(self):
        times = {"algo": "ring", "p50_ns": 1000, "ci95_p50_ns": [950, 1050], "n": 20}
        self.assertEqual(page._time(times), "1.00 ring")
        self.assertEqual(page._time(times | {"n": 3}), "1.00~ ring")
        self.assertEqual(page._time(times | {"ci95_p50_ns": [800, 1050]}), "1.00~ ring")

    def test_says_what_to_type_without_records(self):
        done = self.summarise()
        self.assertEqual(done.returncode, 64)
        self.assertIn("type: scripts/compare_libraries", done.stderr)


class FakeLibrary:
    """A library whose launches end with the exit codes it is given."""

    name = "fake"

    def __init__(self, codes):
        self.codes = codes

    def measures_limits(self):
        return True

    def run(self, launch, words, folder, seconds):
        (folder / f"{launch.name}.log").write_text("tutti: rank 1 was lost\n")
        return self.codes[launch.name]


class Launching(Folder):
    def test_reports_a_launch_that_fails_or_hangs_and_goes_on(self):
        options = SimpleNamespace(only=["all_reduce-np2", "all_reduce-np4", "scatter-np2"])
        codes = {"all_reduce-np2": 5, "all_reduce-np4": library.TIMED_OUT, "scatter-np2": 0}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            failed = program().measure(FakeLibrary(codes), self.folder, options, 10)
        self.assertEqual(set(failed), set(options.only))
        self.assertIn("all_reduce-np2 failed with exit code 5", said.getvalue())
        self.assertIn("all_reduce-np4 hung", said.getvalue())
        self.assertIn("scatter-np2 left no good records", said.getvalue())  # exit code 0, but no file
        self.assertIn("    tutti: rank 1 was lost", said.getvalue())

    def test_refuses_what_it_does_not_know_in_one_line(self):
        for words in (["--mpi", "lam"], ["--budget", "soon"], ["--only", "barrier-np2"], ["--tree", "/nowhere"]):
            done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)


if __name__ == "__main__":
    unittest.main()
