# SPDX-License-Identifier: Apache-2.0
"""Checks `tutti check-guidelines` on sweeps of an invented library with known times."""

import json
import math
import random
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import synthetic  # noqa: E402
from folder import Folder  # noqa: E402
from tutti import guidelines, ratios  # noqa: E402

SIZES = tuple(64 << (2 * i) for i in range(6))  # 64 B .. 64 KiB
# Calls and bytes of each collective, in ns: a library that keeps every guideline, some of them just so.
MODEL = {"all_reduce": (4000, 1.65), "reduce_scatter": (2000, 0.9), "all_gather": (2000, 0.75), "broadcast": (2000, 1.0),
         "reduce": (2200, 1.2), "scatter": (1500, 0.75), "gather": (1500, 0.75), "all_to_all": (2500, 0.9)}


def keeping(coll, size, _=1):
    latency, per_byte = MODEL[coll]
    return latency + per_byte * size


def points_of(time, colls=tuple(MODEL), sizes=SIZES, half=0.02, launches=(1,), session=None, **key):
    """Points of the library "mpi": medians time(coll, size, launch), known to +- `half`. `session` names that of a collective;
    `key` are changes of the key."""
    found = []
    for launch in launches:
        for coll in colls:
            for size in sizes:
                p50 = time(coll, size, launch)
                found.append({"v": 1, "kind": "point", "session": session(coll) if session else "s", "launch": launch, "file": "f",
                              "key": synthetic.key(coll, "mpi", "", "", size) | key, "mode": "deadline", "def": "last_arrival",
                              "n": 100, "t_ns": {name: p50 for name in ("p05", "p50", "p95", "max")},
                              "ci95_p50_ns": [p50 * (1 - half), p50 * (1 + half)],
                              "interval_ns": [p50 * (1 - half), p50 * (1 + half)], "busbw_GBps": 1.0, "check": {"state": "ok"}})
    return found


def judged(points, tolerance=0.05, candidate="mpi"):
    checks, _ = guidelines.checks_of(candidate, guidelines.times_of(candidate, points, []))
    return guidelines.judged(checks, tolerance)


def violated(points, **named):
    return [one.check for one in judged(points, **named) if one.verdict == "violated"]


def noisy(seed, spread=0.01):
    """The model with normal noise, of the size that intervals of +- 1.96 spread say."""
    rng = random.Random(seed)
    return lambda coll, size, _: keeping(coll, size) * math.exp(rng.gauss(0, spread))


class Rules(unittest.TestCase):
    def test_a_planted_violation_of_each_guideline_is_found_and_no_other(self):
        for guideline in guidelines.GUIDELINES:
            def planted(coll, size, _, rule=guideline):
                if coll != rule.left:
                    return keeping(coll, size)
                return 1.3 * sum(keeping(other, size) for other in rule.right)
            with self.subTest(guideline.words):
                found = violated(points_of(planted, (guideline.left, *guideline.right)))
                self.assertEqual({check.guideline for check in found}, {guideline.words})
                self.assertEqual(sorted(check.size for check in found), list(SIZES))
                for check in found:
                    self.assertAlmostEqual(check.ratio.value, 1.3, places=3)
                    self.assertAlmostEqual(check.takes_ns / check.would_take_ns, 1.3, places=3)

    def test_a_peak_is_no_longer_than_what_follows_it(self):
        def peak(coll, size, _):
            return 2.5 * keeping(coll, size) if size == 256 else keeping(coll, size)
        found, = violated(points_of(peak, ("broadcast",)))
        self.assertEqual((found.guideline, found.size), (guidelines.MONOTONE, 256))
        self.assertEqual(found.words, "broadcast: time(256) <= time(1K)")

    def test_a_call_is_no_longer_than_its_parts_by_turns(self):
        def jump(coll, size, _):
            return keeping(coll, size) * (5 if size >= 4096 else 1)
        found, = violated(points_of(jump, ("gather",)))
        self.assertEqual((found.guideline, found.size, found.words),
                         (guidelines.SPLIT, 4096, "gather: time(4K) <= 4 time(1K)"))
        self.assertAlmostEqual(found.would_take_ns, 4 * keeping("gather", 1024), places=3)

    def test_within_the_tolerance_is_no_violation(self):
        def slower(coll, size, _):
            return (1.045 if coll == "all_reduce" else 1) * keeping(coll, size)
        points = points_of(slower, half=0.0001)
        self.assertEqual(violated(points), [])
        self.assertEqual({check.guideline for check in violated(points, tolerance=0.02)}, {"all_reduce <= reduce_scatter + all_gather"})

    def test_none_is_violated_where_all_are_kept(self):
        for seed in range(50):
            self.assertEqual(violated(points_of(noisy(seed), half=0.0196)), [], seed)

    def test_at_the_limit_about_one_run_in_twenty_errs(self):
        # Every check is exactly at the limit. Of 200 runs with a chance of 5 % each, more than 21 come once in 1000 times.
        colls = ("all_reduce", "reduce_scatter", "all_gather")
        runs = 0
        for seed in range(200):
            rng = random.Random(seed)
            def time(coll, _size, _, rng=rng):
                return 1e6 * (2 if coll == "all_reduce" else 1) * math.exp(rng.gauss(0, 0.01))
            runs += bool(violated(points_of(time, colls, half=0.0196), tolerance=0))
        self.assertLessEqual(runs, 21)

    def test_what_its_interval_does_not_show_is_undecided(self):
        def slow(coll, size, _):
            return (1.3 if coll == "all_reduce" else 1) * keeping(coll, size)
        of_rule = [one for one in judged(points_of(slow, half=0.4)) if one.check.guideline.startswith("all_reduce <= reduce_scatter")]
        self.assertEqual({one.verdict for one in of_rule}, {"undecided"})
        for one in of_rule:
            self.assertLess(one.low, 1.05)
            self.assertGreater(one.high, 1.3)


class Pairs(unittest.TestCase):
    """Checks which points are compared."""

    def test_other_settings_are_not_compared(self):
        slow, quick = points_of(keeping, ("gather",)), points_of(lambda *_: 10, ("all_gather",))
        self.assertTrue(violated(slow + quick))
        for changes in ({"inplace": True}, {"dtype": "double"}, {"buf": "registered"}, {"nranks": 2}, {"ppn": 2},
                        {"placement": "spread"}, {"input": "rewritten"}):
            other = points_of(lambda *_: 10, ("all_gather",), **changes)
            self.assertFalse([check for check in violated(slow + other) if check.guideline == "gather <= all_gather"], changes)
        for changes in ({"mode": "barrier"}, {"check": {"state": "fail"}}, {"skipped": "why"}):
            self.assertFalse([check for check in violated(slow + [one | changes for one in quick])
                              if check.guideline == "gather <= all_gather"], changes)

    def test_ops_and_roots_belong_together(self):
        def of(op, root, slow):
            colls = ("reduce", "all_reduce")
            points = points_of(lambda coll, size, _: keeping(coll, size) * (9 if slow and coll == "reduce" else 1), colls)
            return [one | {"key": one["key"] | {"op": op, "root": root if one["key"]["coll"] == "reduce" else -1}} for one in points]
        found = violated(of("sum", 0, False) + of("max", 1, True))
        self.assertEqual({(check.call.op, check.call.root) for check in found}, {("max", 1)})

    def test_a_call_without_a_root_is_compared_for_each(self):
        colls = ("all_gather", "gather", "broadcast")
        def root_of_1(point):
            return point | {"key": point["key"] | {"root": 1 if point["key"]["root"] >= 0 else -1}}
        points = points_of(keeping, colls) + [root_of_1(one) for one in points_of(keeping, colls)]
        of_rule = [one for one in judged(points) if one.check.guideline == "all_gather <= gather + broadcast"]
        self.assertEqual(len(of_rule), 2 * len(SIZES))

    def test_sizes_that_were_rounded_up_to_whole_elements_for_each_rank_are_the_same(self):
        """With 3 ranks, `tutti bench -b 8 -e 1K -f 128` writes 8 and 1024 bytes, but 12 and 1032 for collectives in blocks."""
        def of(coll):
            return points_of(lambda coll, size, _: 1000 + size, (coll,), (12, 1032) if coll in guidelines.IN_BLOCKS else (8, 1024), nranks=3)
        points = [one for coll in MODEL for one in of(coll)]
        would = {(one.check.guideline, one.check.size): one.check.would_take_ns for one in judged(points)}
        self.assertAlmostEqual(would["all_reduce <= reduce_scatter + all_gather", 1024], 2 * 2032, places=3)
        # A vector of 1024 bytes is too short for a result of 1032, so its time is scaled up.
        self.assertAlmostEqual(would["all_gather <= gather + broadcast", 1032], 2032 + 2024 * 1032 / 1024, places=3)
        self.assertAlmostEqual(would["reduce <= all_reduce", 8], 1008, places=3)
        self.assertNotIn(("all_reduce <= reduce_scatter + all_gather", 12), would)

    def test_vectors_of_other_sizes_are_not(self):
        points = points_of(keeping, ("gather",), (1024,)) + points_of(keeping, ("all_gather",), (1040,))
        self.assertEqual(judged(points), [])

    def test_in_rows_calls_with_a_root_are_not_added_up(self):
        points = [one | {"mode": "b2b"} for one in points_of(keeping)]
        checks, not_checked = guidelines.checks_of("mpi", guidelines.times_of("mpi", points, []))
        reasons = {one.guideline: one.reason for one in not_checked}
        self.assertEqual(set(reasons), {rule.words for rule in guidelines.GUIDELINES
                                        if len(rule.right) > 1 and set(rule.right) & set(guidelines.ROOTED)})
        self.assertIn("--sync barrier", reasons["all_reduce <= reduce + broadcast"])
        self.assertIn("scatter <= broadcast", {check.guideline for check in checks})

    def test_a_library_is_judged_by_its_own_choice(self):
        forced = points_of(lambda *_: 1, ("all_gather",), algo="ring")
        self.assertEqual(violated(points_of(keeping) + forced), [])
        self.assertTrue(violated(points_of(keeping) + points_of(lambda *_: 1, ("all_gather",), algo="mpi")))  # its older name
        self.assertEqual(guidelines.candidates_in(points_of(keeping) + forced), ["mpi"])

    def test_the_best_algorithm_of_each_size_speaks_for_tutti(self):
        def of(algo, factor, transport="shm"):
            return points_of(lambda coll, size, _: factor(coll, size) * keeping(coll, size), impl="tutti", algo=algo, transport=transport)
        ring = of("ring", lambda coll, size: 1 if size > 1000 else 30)
        tree = of("tree", lambda coll, size: 1 if size < 1000 else 30)
        auto = of("auto", lambda coll, size: 30 if coll == "all_reduce" else 1)
        points = ring + tree + auto
        self.assertEqual(guidelines.candidates_in(points), ["auto", "best"])
        self.assertEqual(violated(points, candidate="best"), [])
        self.assertTrue(violated(points, candidate="auto"))
        self.assertTrue(violated(points, candidate="ring (shm)"))
        self.assertIn("ring", guidelines.names_in(points))


class Launches(unittest.TestCase):
    def slow(self, launches, spread, session=None):
        rng = random.Random(3)
        def time(coll, size, launch):
            return keeping(coll, size) * (1.6 if coll == "gather" else 1) * math.exp(rng.gauss(0, spread))
        return points_of(time, ("gather", "all_gather"), launches=range(1, launches + 1), half=0.001, session=session)

    def of_rule(self, points):
        return [one for one in judged(points) if one.check.guideline == "gather <= all_gather"]

    def test_five_with_little_between_them_show_a_violation(self):
        for session in (None, lambda coll: coll):  # one session, or one for each collective
            found = self.of_rule(self.slow(5, 0.02, session))
            self.assertEqual({(one.verdict, one.check.launches) for one in found}, {("violated", 5)})

    def test_few_samples_have_no_interval_but_several_launches_do(self):
        for launches, verdict in ((1, "undecided"), (5, "violated")):
            found = self.of_rule([one | {"n": 5, "interval_ns": None} for one in self.slow(launches, 0.001)])
            self.assertEqual({one.verdict for one in found}, {verdict})

    def test_what_launches_differ_by_counts_and_not_what_one_says(self):
        self.assertEqual({one.verdict for one in self.of_rule(self.slow(5, 0.5))}, {"undecided"})

    def test_one_launch_of_each_shows_nothing_as_launches_differ(self):
        found = self.of_rule(self.slow(1, 0.001, lambda coll: coll))
        self.assertEqual({(one.verdict, one.check.comparable) for one in found}, {("undecided", False)})
        self.assertEqual({one.verdict for one in self.of_rule(self.slow(1, 0.001))}, {"violated"})

    def test_what_a_launch_does_to_all_its_calls_cancels(self):
        def time(coll, size, launch):
            return keeping(coll, size) * (1.6 if coll == "gather" else 1) * launch
        points = points_of(time, ("gather", "all_gather"), launches=range(1, 6), half=0.001)
        self.assertEqual({one.verdict for one in self.of_rule(points)}, {"violated"})
        apart = points_of(time, ("gather", "all_gather"), launches=range(1, 6), half=0.001, session=lambda coll: coll)
        self.assertEqual({one.verdict for one in self.of_rule(apart)}, {"undecided"})

    def test_a_file_that_is_named_twice_is_no_second_launch(self):
        once = points_of(keeping)
        self.assertEqual(judged(once), judged(once + [one | {"file": "g"} for one in once]))

    def test_none_is_violated_where_all_are_kept(self):
        for seed in range(50):
            rng = random.Random(seed)
            def time(coll, size, launch, rng=rng):
                return keeping(coll, size) * math.exp(rng.gauss(0, 0.03))
            points = points_of(time, launches=range(1, 6), half=0.001, session=(lambda coll: coll) if seed % 2 else None)
            self.assertEqual(violated(points), [], seed)


class Ratios(unittest.TestCase):
    def test_students_distribution_is_that_of_the_tables(self):
        for freedom, t in ((1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042), (math.inf, 1.960)):
            self.assertAlmostEqual(ratios.student_quantile(0.975, freedom), t, places=3)
            self.assertAlmostEqual(ratios.two_tails(t, freedom), 0.05, places=4)
        self.assertAlmostEqual(ratios.two_tails(8.610, 4), 0.001, places=6)

    def test_holm_multiplies_by_what_is_left_and_keeps_the_order(self):
        for found, right in zip(ratios.adjusted_by_holm([0.01, 0.04, 0.03, 0.005]), (0.03, 0.06, 0.06, 0.02)):
            self.assertAlmostEqual(found, right)
        self.assertEqual(ratios.adjusted_by_holm([]), [])

    def test_the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says(self):
        rng = random.Random(5)
        for launches in (2, 5):
            held = 0
            for _ in range(400):
                a, b = ([ratios.Estimate(rng.gauss(0, spread), 1e-9) for _ in range(launches)] for spread in (0.1, 0.03))
                low, high = ratios.ratio(ratios.over_launches(a), ratios.over_launches(b)).interval(0.95)
                held += low <= 1 <= high
            self.assertGreaterEqual(held, 360, launches)  # fewer than 93 % of 400 would be 372; Welch's is approximate

    def test_launches_that_agree_by_chance_know_no_more_than_each_of_them(self):
        one = ratios.of_median(1000, (980, 1020))
        self.assertAlmostEqual(ratios.over_launches([one, one]).variance, one.variance / 2)


class Command(Folder):
    def file(self, points, name="r.jsonl"):
        path = self.folder / name
        lines = [synthetic.session(), synthetic.launch_record(1), *points]
        path.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines), encoding="utf-8")
        return path

    def run_it(self, *words):
        return subprocess.run([sys.executable, "-B", ROOT / "scripts/guidelines.py", *map(str, words)], capture_output=True,
                              text=True, check=False)

    def said(self, code, *words):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def refused(self, *words, says):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (64, "", 1), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertTrue(done.stderr.isprintable() or done.stderr[:-1].isprintable(), done.stderr)

    def slow_gather(self):
        return points_of(lambda coll, size, _: keeping(coll, size) * (2 if coll == "gather" and size == 1024 else 1))

    def test_says_the_worst_first_and_what_would_be_gained(self):
        said = self.said(1, self.file(self.slow_gather()))
        self.assertIn("guidelines: 4 ranks, 4", said)
        lines = said.splitlines()
        first = lines[lines.index("violated") + 2]
        self.assertRegex(first, r"^  mpi +gather <= all_gather +1K +1\.64 +1\.\d\d to 1\.\d\d +4\.54 µs .* 2\.77 µs, 1\.77 µs")
        self.assertRegex(said, r"\n\d+ checked: 1 violated, \d+ kept, 0 undecided\n")

    def test_is_content_with_a_library_that_keeps_them(self):
        self.assertRegex(self.said(0, self.file(points_of(keeping))), r"\n\d+ checked: 0 violated, \d+ kept, 0 undecided\n")

    def test_a_line_says_what_could_not_be_checked(self):
        said = self.said(0, self.file(points_of(keeping, ("gather", "all_gather", "broadcast"))))
        line = next(line for line in said.splitlines() if line.startswith("not checked"))
        self.assertIn(" all_reduce, all_to_all, reduce, reduce_scatter, scatter: all_reduce <= reduce_s", line)
        self.assertIn("; broadcast <= scatter + all_gather; ", line)
        self.assertNotIn("gather <= all_gather", line)
        only = self.said(0, self.file(points_of(keeping, ("gather",)) + points_of(keeping, ("all_gather",), inplace=True)))
        self.assertIn(" inplace: gather <= all_gather\n", only)

    def test_nothing_to_check_has_a_code_of_its_own(self):
        said = self.said(3, self.file(points_of(keeping, ("gather",), (64,))))
        self.assertIn("could be checked\n", said)
        self.assertEqual(json.loads(self.said(3, self.file(points_of(keeping, ("gather",), (64,))), "--format", "json"))["checked"], 0)

    def test_json_has_every_check(self):
        found = json.loads(self.said(1, self.file(self.slow_gather()), "--format=json"))
        self.assertEqual(found["checked"], len(found["checks"]))
        self.assertEqual(found["violated"], sum(one["verdict"] == "violated" for one in found["checks"]))
        worst = found["checks"][0]
        self.assertEqual((worst["guideline"], worst["bytes"], worst["nranks"], worst["start"]),
                         ("gather <= all_gather", 1024, 4, "deadline last_arrival"))
        self.assertAlmostEqual(worst["gain_ns"], worst["takes_ns"] - worst["would_take_ns"], delta=0.1)

    def test_markdown_is_a_table(self):
        said = self.said(1, self.file(self.slow_gather()), "--format", "markdown")
        self.assertRegex(said, r"\n\| mpi \| gather \\<= all\\_gather \| 1K \| 1\.64 \| 1\.\d\d to 1\.\d\d \| .* \|\n")

    def test_one_library_or_some_of_tutti_may_be_asked_for(self):
        ours = points_of(keeping, impl="tutti", algo="ring", transport="shm")
        file = self.file(self.slow_gather() + ours)
        self.assertIn("  best: ", self.said(1, file))
        self.assertNotIn("best", self.said(1, file, "--library", "mpi"))
        for name in ("best", "ring", "ring (shm)", "ring,best"):
            self.assertNotIn("mpi", self.said(0, file, "--candidates", name).splitlines()[-1])
        self.refused(file, "--library", "nccl", says="'nccl'")
        self.refused(file, "--candidates", "tree", says="ring, ring (shm)")
        self.refused(file, "--candidates", "best", "--library", "mpi", says="--candidates")

    def test_tolerance_is_a_share(self):
        file = self.file(self.slow_gather())
        for text in ("70%", "0.7"):
            self.said(0, file, "--tolerance", text)
        for text in ("5", "-1%", "much", "nan"):
            self.refused(file, f"--tolerance={text}", says="100%")

    def test_hostile_files_are_one_line(self):
        good = points_of(keeping)
        for text, says in (("", "is empty"), ("{}\n", "record"), ('{"v":1,"kind":"point"}\n', "launch"), ("no JSON\n", ":1:")):
            path = self.folder / "hostile.jsonl"
            path.write_text(text, encoding="utf-8")
            self.refused(path, says=says)
        self.refused(self.folder / "none.jsonl", says="cannot read")
        for key in ({"bytes": -8}, {"nranks": 0}):
            self.refused(self.file([good[0] | {"key": good[0]["key"] | key}]), says="")

    def test_hostile_names_stay_in_their_line(self):
        name = "a\n| \x1b[31m <b>"
        points = points_of(lambda coll, size, _: keeping(coll, size) * (3 if coll == "all_reduce" else 1), impl=name)
        for form in ("text", "markdown", "json"):
            said = self.said(1, self.file(points), "--format", form)
            self.assertTrue(all(line.isprintable() for line in said.splitlines()))
            self.assertNotIn(" <b>", said if form == "markdown" else "")

    def test_a_torn_line_is_a_warning(self):
        file = self.file(points_of(keeping))
        file.write_text(file.read_text()[:-30])
        done = self.run_it(file)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1))
        self.assertIn("check-guidelines: warning: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
