# SPDX-License-Identifier: Apache-2.0
"""The comparison with the libraries, on records that the tests make themselves; nothing is measured."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
PROGRAM = SCRIPTS / "compare_libraries"
sys.path[:0] = [str(HERE), str(SCRIPTS), str(SCRIPTS / "lib")]

import synthetic  # noqa: E402
from comparison import goals, library, page, plan, settings, summary  # noqa: E402
from folder import Folder  # noqa: E402
from plots import records  # noqa: E402


def program():
    """The command as a module: its name has no .py."""
    loader = importlib.machinery.SourceFileLoader("compare_libraries", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


UCX = next(setting for setting in settings.SETTINGS if setting.name == "ucx")
ALL = plan.launches([launch.table for launch in plan.LAUNCHES], plan.INPUTS, [settings.DEFAULT, UCX])


def point(p50, impl="tutti", algo="ring", coll="all_reduce", ranks=2, buf="registered", size=8, state="", **changes):
    key = synthetic.key(coll, impl, algo, "shm" if impl == "tutti" else "", size)
    key |= {"buf": buf, "nranks": ranks} | ({"input": state} if state else {})
    return {"v": 1, "kind": "point", "session": "s", "launch": 1, "key": key,
            "n": 100, "t_ns": {"p05": p50, "p50": p50, "p95": p50, "max": p50}, "ci95_p50_ns": [p50, p50], "interval_ns": [p50, p50], "disturbed": False,
            "busbw_GBps": size / max(p50, 1), "check": {"state": "ok", "n_wrong": 0}} | changes


def launch_under(setting, library_name="Open MPI"):
    launch = synthetic.launch_record(1) | {"mpi": {"vendor": library_name, "version": "4.1.4"}}
    return launch | {"env": setting.environment()}


def rows_of(*points, library_name="MPICH", **others):
    """Returns the rows of one launch under the default setting and one launch for each setting named in `others`."""
    launches, all_points = [], []
    for name, mine in [("default", points), *others.items()]:
        setting = settings.Setting(name, "" if name == "default" else "A=b")
        launches.append(launch_under(setting, library_name) | {"file": name})
        all_points += [point | {"file": name} for point in mine]
    return summary.summarise(SimpleNamespace(points=all_points, launches=launches, ends=[],
                                             sessions=[synthetic.session() | {"file": name} for name in ("default", *others)]))


def perfect(launch):
    """Points by which a launch meets every goal: ours takes 100 ns, the library's ring 400, its default 500."""
    state = "" if launch.input == "untouched" else launch.input
    limit = {} if state else {"pct_of_limit": 90.0, "limit_ns": 90.0}
    return [point(p50, impl, algo, launch.collective, launch.ranks, buf, size, state, **limit)
            for size in plan.SIZES for buf in ("registered", "host")
            for p50, impl, algo in ((100, "tutti", "one-shot"), (120, "tutti", "ring"), (400, "mpi", "ring"),
                                    (500, "mpi", ""))]


def write_all(folder, launches=ALL):
    for launch in launches:
        lines = [synthetic.session(), launch_under(launch.setting), *perfect(launch),
                 {"v": 1, "kind": "end", "session": "s", "launch": 1, "ok": True, "wall_ns": 2 * 10**9}]
        (folder / f"{launch.name}.jsonl").write_text("".join(json.dumps(synthetic.whole(line, launch.name)) + "\n" for line in lines))

ONE_OPEN = "open: 1 missing or disturbed"


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
        row, = rows_of(point(100), point(1, "mpi", "", skipped="not on time"))
        self.assertNotIn("ratio_to_best", row)
        self.assertNotIn("library_best", row)

    def test_takes_the_setting_at_which_the_library_is_best_against_ours(self):
        row, = rows_of(point(100), point(300, "mpi", ""), ucx=[point(200), point(500, "mpi", ""), point(400, "mpi")])
        self.assertEqual((row["setting"], row["ratio_to_best"], row["ours"]["p50_ns"]), ("ucx", 2.0, 200))
        self.assertEqual(row["ratios"], {"default": 3.0, "ucx": 2.0})

    def test_never_divides_times_of_two_launches(self):
        row, = rows_of(point(100), point(300, "mpi", ""), ucx=[point(400), point(1000, "mpi", "")])
        self.assertEqual(row["ratio_to_best"], 2.5)  # not 300 / 400, nor 1000 / 100

    def test_what_a_library_does_unasked_is_of_the_default_setting(self):
        row, = rows_of(point(100), point(300, "mpi", ""), ucx=[point(100), point(200, "mpi", "")])
        self.assertEqual((row["ratio_to_default"], row["library_default"]["p50_ns"]), (3.0, 300))
        row, = rows_of(ucx=[point(100), point(200, "mpi", "")])
        self.assertNotIn("ratio_to_default", row)

    def test_a_disturbed_setting_decides_nothing_and_leaves_the_size_open(self):
        row, = rows_of(point(100), point(300, "mpi", ""),
                       ucx=[point(100, disturbed=True), point(110, "mpi", "", disturbed=True)])
        self.assertEqual((row["ratio_to_best"], row["disturbed"]), (3.0, ["ucx"]))

    def test_names_the_settings_of_the_table_that_were_not_measured(self):
        self.assertEqual(rows_of(point(100), point(300, "mpi", ""), library_name="Open MPI")[0]["missing"], ["ucx"])
        self.assertNotIn("missing", rows_of(point(100), point(300, "mpi", ""))[0])  # MPICH has the default alone
        row, _ = rows_of(point(100), point(300, "mpi", ""), own=[point(100, size=64)])
        self.assertEqual(row["missing"], ["own"])

    def test_keeps_rewritten_input_apart(self):
        rows = rows_of(point(100), point(200, "mpi", ""), point(400, state="rewritten"),
                       point(500, "mpi", "", state="rewritten"))
        self.assertEqual([(row["input"], row["ratio_to_best"]) for row in rows], [("untouched", 2.0), ("rewritten", 1.25)])

    def test_geometric_mean_of_a_number_and_its_inverse_is_one(self):
        self.assertAlmostEqual(summary.geometric_mean([4, 0.25]), 1)
        self.assertIsNone(summary.geometric_mean([]))


class Goals(unittest.TestCase):
    ALL = rows_of(*(point for launch in ALL for point in perfect(launch)))

    def test_are_all_met_by_figures_above_their_bounds(self):
        met = [cell for _, *cells in goals.evaluated(self.ALL) for cell in cells[1::2]]
        self.assertEqual({cell: met.count(cell) for cell in met}, {"yes": 2 * len(goals.GOALS) - 2, "–": 2})

    def test_are_not_measured_without_records(self):
        self.assertEqual({cells[1] for _, *cells in goals.evaluated([])}, {"not measured"})

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
        self.assertTrue(goal.evaluate(rows)[1].startswith("open: 1 missing"))

    def test_stay_open_while_a_setting_is_missing_but_can_be_missed(self):
        goal = goals.Goal(("all_reduce",), 2, "registered", 1.0)
        rows = [dict(row, missing=["ucx"]) if row["bytes"] == 64 else row for row in self.ALL]
        self.assertEqual(goal.evaluate(rows), ("4.00 (8 B)", ONE_OPEN))
        rows = [dict(row, missing=["ucx"], ratio_to_best=0.9) for row in self.ALL]
        self.assertEqual(goal.evaluate(rows), ("0.90 (8 B)", "no"))

    def test_are_of_each_input_apart(self):
        rows = [dict(row, ratio_to_best=0.5) if row["input"] == "rewritten" else row for row in self.ALL]
        for _, _, untouched, _, rewritten in goals.evaluated(rows):
            self.assertIn((untouched, rewritten), [("yes", "no"), ("yes", "–")])

    def test_do_not_rest_on_disturbed_sizes(self):
        rows = [dict(row, disturbed=["ucx"], ratio_to_best=0.1) if row["bytes"] == 64 else row for row in self.ALL]
        self.assertEqual(goals.Goal(("all_reduce",), 2, "registered", 1.0).evaluate(rows),
                         ("4.00 (8 B)", ONE_OPEN))

    def test_a_bound_that_is_just_met_is_met(self):
        rows = [dict(row, ratio_to_best=1.8) for row in self.ALL]
        self.assertEqual(goals.Goal(("all_reduce",), 2, "registered", 1.8).evaluate(rows)[1], "yes")


class Plan(unittest.TestCase):
    def test_counts_make_the_sizes_of_nccl_tests(self):
        by_name = {launch.name: launch for launch in plan.LAUNCHES}
        self.assertEqual(by_name["all_reduce-np8"].counts()[:2], [2, 16])  # elements of the vector
        self.assertEqual(by_name["scatter-np2"].counts()[:2], [1, 8])  # elements of a block

    def test_divides_the_time_that_is_left(self):
        shares, left = [], 960
        for i, launch in enumerate(ALL):
            shares.append(plan.seconds_for(launch, ALL[i + 1:], left))
            left -= shares[-1]
        self.assertAlmostEqual(left, 0)
        self.assertGreater(min(seconds - launch.beyond for seconds, launch in zip(shares, ALL)), 10)

    def test_each_collective_has_a_launch_for_each_setting_and_input_with_files_of_its_own(self):
        names = [launch.name for launch in plan.launches(["gather-np2"], plan.INPUTS, [settings.DEFAULT, UCX])]
        self.assertEqual(names, ["gather-np2", "gather-np2-ucx", "gather-np2-rewritten", "gather-np2-ucx-rewritten"])
        self.assertEqual(len({launch.name for launch in ALL}), 4 * len(plan.LAUNCHES))

    def test_limits_are_those_of_untouched_input(self):
        for launch in plan.launches(["gather-np2"], plan.INPUTS, [settings.DEFAULT]):
            words = launch.bench(20)
            self.assertEqual(words[words.index("--input") + 1], launch.input)
            self.assertEqual(words[words.index("--limits") + 1], "measure" if launch.input == "untouched" else "none")


class Settings(unittest.TestCase):
    def test_a_launch_on_record_tells_its_setting(self):
        for setting in (settings.DEFAULT, UCX, settings.Setting("own", "A='b c' D=e")):
            record = {"env": {"OMPI_MCA_btl": "self"} | setting.environment()}
            found = settings.setting_of(record)
            self.assertEqual((found.name, found.text), (setting.name, setting.text))

    def test_variables_are_as_a_shell_takes_them(self):
        environment = settings.Setting("own", "A='b c' D=e=f").environment()
        self.assertEqual((environment["A"], environment["D"]), ("b c", "e=f"))

    def test_the_default_adds_nothing(self):
        self.assertEqual(settings.DEFAULT.environment(), {})

    def test_open_mpi_is_measured_over_ucx_too(self):
        self.assertEqual([setting.name for setting in settings.settings_for("openmpi")], ["default", "ucx"])
        self.assertEqual([setting.name for setting in settings.settings_for("mpich")], ["default"])
        self.assertEqual(UCX.environment()["OMPI_MCA_pml"], "ucx")

    def test_a_users_setting_may_be_of_one_library_and_replaces_one_of_the_table(self):
        more = [settings.Setting("ucx", "A=b", "openmpi"), settings.Setting("own", "A=b")]
        self.assertEqual([(one.name, one.text) for one in settings.settings_for("openmpi", more)],
                         [("default", ""), ("ucx", "A=b"), ("own", "A=b")])
        self.assertEqual([one.name for one in settings.settings_for("mpich", more)], ["default", "own"])


class Page(Folder):
    def summarise(self):
        return subprocess.run([sys.executable, PROGRAM, "--summarise", self.folder], capture_output=True, text=True,
                              check=False)

    def test_is_made_of_the_records_only(self):
        write_all(self.folder)
        done = self.summarise()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("| yes |"), 2 * len(goals.GOALS) - 2)
        text = (self.folder / "compare.md").read_text(encoding="utf-8")
        self.assertIn("# tutti against Open MPI 4.1.4", text)
        self.assertIn("| 64M | 0.10 one-shot | 0.40 ring | 4.00 | 5.00 | 90 | 0.10 one-shot |", text)
        self.assertNotIn("Caution", text)
        self.assertIn(f"| setting ucx | `{UCX.text}` |", text)
        self.assertIn(f"| gather-np2-ucx-rewritten | 4 | 2 | `{UCX.text} tutti bench all", text)
        lines = [json.loads(line) for line in (self.folder / "compare.jsonl").read_text().splitlines()]
        kinds = [line["kind"] for line in lines]
        self.assertEqual(kinds.count("comparison"), len(plan.LAUNCHES) * len(plan.SIZES) * 4)
        self.assertEqual(kinds.count("launch"), len(ALL))  # the provenance

    def test_reports_what_is_missing_or_broken(self):
        write_all(self.folder, [launch for launch in ALL if launch.table in ("all_reduce-np2", "all_reduce-np8")])
        (self.folder / "all_reduce-np2-ucx.jsonl").unlink()
        torn = self.folder / "all_reduce-np8-rewritten.jsonl"
        torn.write_text("".join(line for line in torn.read_text().splitlines(True) if '"end"' not in line))
        self.assertEqual(self.summarise().returncode, 0)
        text = (self.folder / "compare.md").read_text(encoding="utf-8")
        self.assertIn("all_reduce-np8-rewritten", text)
        self.assertRegex(text, "no records of all_reduce-np2-ucx, all_reduce-np4, all_gather-np2, .*gather-np2")

    def test_names_the_best_setting_and_the_disturbed_one(self):
        row = {"ours": None, "setting": "ucx", "disturbed": ["default"]}
        self.assertEqual(page._cells(row)[:2], ["– (default disturbed)", "– (ucx)"])
        self.assertEqual(page._cells({"setting": "default"})[:2], ["–", "–"])
        row |= {"coll": "gather", "nranks": 2, "input": "rewritten"}
        said, = page._disturbed("rewritten", "default", [row])
        self.assertIn("--only gather-np2 --settings default --input rewritten", said)
        self.assertEqual([*page._disturbed("rewritten", "ucx", [row]), *page._disturbed("untouched", "default", [row])], [])

    def test_marks_medians_that_are_not_known(self):
        times = {"algo": "ring", "p50_ns": 1000, "interval_ns": [950, 1050]}
        self.assertEqual(page._time(times), "1.00 ring")
        self.assertEqual(page._time(times | {"interval_ns": None}), "1.00~ ring")
        self.assertEqual(page._time(times | {"interval_ns": [800, 1050]}), "1.00~ ring")

    def test_names_the_command_that_is_missing(self):
        done = self.summarise()
        self.assertEqual(done.returncode, 64)
        self.assertIn("run scripts/compare_libraries", done.stderr)


class FakeLibrary:
    """A library whose launches end with the exit codes it is given."""

    name = "fake"

    def __init__(self, codes):
        self.codes = codes

    def run(self, launch, words, folder, seconds):
        (folder / f"{launch.name}.log").write_text("tutti: rank 1 lost\n")
        return self.codes[launch.name]


class Launching(Folder):
    def test_reports_a_launch_that_fails_or_hangs_and_goes_on(self):
        codes = {"all_reduce-np2": 5, "all_reduce-np2-ucx": library.TIMED_OUT, "scatter-np2": 0, "scatter-np2-ucx": 0}
        launches = plan.launches(["all_reduce-np2", "scatter-np2"], ["untouched"], [settings.DEFAULT, UCX])
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            failed = program().measure(FakeLibrary(codes), launches, self.folder, 10)
        self.assertEqual(failed, list(codes))
        self.assertIn("all_reduce-np2 failed", said.getvalue())
        self.assertIn("all_reduce-np2-ucx hung", said.getvalue())
        self.assertIn("scatter-np2 wrote no", said.getvalue())  # exit code 0, but no file
        self.assertIn("    tutti: rank 1 lost", said.getvalue())

    def test_hands_the_setting_to_the_ranks(self):
        launcher, tutti = self.script("mpirun", "shift 2; exec \"$@\""), self.script("tutti", "env")
        launch, = plan.launches(["gather-np2"], ["untouched"], [UCX])
        mpi = library.Library("openmpi", "", str(launcher), tutti)
        self.assertEqual(mpi.run(launch, [], self.folder, 60), 0)
        said = (self.folder / "gather-np2-ucx.txt").read_text().splitlines()
        for word in (*UCX.text.split(), f"{settings.RECORDED}=ucx {UCX.text}"):
            self.assertIn(word, said)

    def test_ends_the_launch_under_way_when_it_is_ended(self):
        launcher, seen = self.script("mpirun", "shift 2; exec \"$@\""), self.folder / "seen"
        self.script("tutti", f"[ $1 = --version ] && echo MPI Open MPI 4.1.4 && exit; echo $$ >{seen}; exec sleep 60")
        with subprocess.Popen([sys.executable, PROGRAM, "--tree", self.folder, "--out", self.folder / "out"],
                              env=os.environ | {"TUTTI_MPIRUN": str(launcher)}, stdout=subprocess.DEVNULL) as job:
            for _ in range(300):
                if seen.exists() and seen.read_text():
                    break
                time.sleep(0.1)
            job.terminate()
            self.assertEqual(job.wait(30), 128 + signal.SIGTERM)
        self.assertFalse(Path(f"/proc/{seen.read_text().strip()}").exists())

    def script(self, name, body):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return file

    def prefix(self, says, name="mpi"):
        self.script(f"{name}/bin/mpicc", "false")
        self.script(f"{name}/bin/mpirun", f"echo '{says}'")
        return f"{self.folder}/{name}"

    def test_a_library_in_a_prefix_is_named_after_vendor_and_version(self):
        for says, name in (("mpirun (Open MPI) 5.0.10", "openmpi-5.0.10"), ("prterun (Open MPI) 6.0.0rc1", "openmpi-6.0.0rc1"),
                           ("HYDRA build details:\n    Version:     4.3.1\n", "mpich-4.3.1")):
            prefix = self.prefix(says)
            found = library.find(prefix)
            self.assertEqual((found.name, found.vendor), (name, name.split("-")[0]))
            self.assertEqual((found.compiler, found.launcher), (f"{prefix}/bin/mpicc", f"{prefix}/bin/mpirun"))

    def test_a_prefix_gets_a_tree_of_its_own_anew_where_another_compiler_made_it(self):
        found = library.find(self.prefix("mpirun (Open MPI) 5.0.10"))
        tree = self.folder / "build-openmpi-5.0.10"
        for cache, fresh in ((None, False), (f"MPI_C_COMPILER:FILEPATH={found.compiler}\n", False),
                             ("MPI_C_COMPILER:FILEPATH=/opt/other/bin/mpicc\n", True)):
            if cache:
                tree.mkdir(exist_ok=True)
                (tree / "CMakeCache.txt").write_text(cache)
            with mock.patch.object(library, "ROOT", self.folder), mock.patch.object(library, "_call") as call:
                self.assertEqual(library.build(found).tutti, tree / "tutti")
            configured = call.call_args_list[0].args
            self.assertIn(f"-DMPI_C_COMPILER={found.compiler}", configured)
            self.assertEqual("--fresh" in configured, fresh)

    def refused(self, *words):
        """The one line that it says. Were the words taken after all, there is nothing to build with."""
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True, check=False,
                              env=os.environ | {"PATH": "/nowhere"})
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (64, 1, ""), done.stderr)
        return done.stderr

    def test_refuses_what_it_does_not_know_in_one_line(self):
        for words in (["--mpi", "lam"], ["--mpi", "/nowhere"], ["--budget", "soon"], ["--only", "barrier-np2"],
                      ["--input", "old"], ["--tree", "/nowhere"], ["--settings", "slow"], ["--setting", "own"],
                      ["--setting", "own=A"], ["--setting", "own='A=b"], ["--setting", "lam:own=A=b"]):
            self.refused(*words)
        for name in ("default", "untouched", "rewritten"):  # they have a meaning in the names of files
            self.assertIn("is reserved", self.refused("--setting", f"{name}=A=b"))

    def test_refuses_a_prefix_that_is_none_or_that_shares_a_name(self):
        prefix = self.prefix("Intel MPI 2021")
        self.assertIn("neither Open MPI's nor MPICH's", self.refused("--mpi", prefix))
        (self.folder / "mpi/bin/mpicc").unlink()
        self.assertIn("no " + prefix + "/bin/mpicc", self.refused("--mpi", prefix))
        twins = [self.prefix("mpirun (Open MPI) 5.0.10", name) for name in ("one", "other")]
        self.assertIn("same folder", self.refused("--mpi", ",".join(twins)))

    def test_refuses_settings_that_a_library_has_none_of_before_it_builds(self):
        prefix = self.prefix("HYDRA build details:\n Version: 4.3.1")
        self.assertIn("mpich-4.3.1 has none", self.refused("--mpi", prefix, "--settings", "ucx"))


if __name__ == "__main__":
    unittest.main()
