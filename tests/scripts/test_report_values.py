# SPDX-License-Identifier: Apache-2.0
"""What a report says, against values that the tests compute themselves from planted data."""

import math
import re
import statistics
import unittest

from report_files import Values, launch_of, library, needs_matplotlib, step, timed, with_key
import synthetic  # found through report_files
from plots import decision, scaling, sections, selection, setups, steps, summary
from tutti import intervals

T_975_OF_2 = 4.302652729911275  # Student's t with two degrees of freedom, 97.5 %


class Ratios(Values):
    def test_of_one_launch_come_from_the_intervals_of_both_medians(self):
        section = self.section(timed("ring", 8, 1000, 50), library(8, 2000, 100))
        ratio = section.compared(section.library, section.own[0], 8)
        # ln 2 -+ sqrt(ln(2000/1900)^2 + ln(1050/1000)^2), and so on
        low = 2 * math.exp(-math.hypot(math.log(2000 / 1900), math.log(1050 / 1000)))
        high = 2 * math.exp(math.hypot(math.log(2100 / 2000), math.log(1000 / 950)))
        for found, expected in ((ratio.value, 2), (ratio.low, low), (ratio.high, high)):
            self.assertAlmostEqual(found, expected)

    def test_of_few_launches_are_taken_in_each_launch_and_spread_by_students_t(self):
        times = ((1000, 2100), (3000, 6000), (500, 950))  # launches differ threefold, ratios by a tenth
        points = [point for launch, (ours, theirs) in enumerate(times) for point in (
            timed("ring", 8, ours, 1, launch), library(8, theirs, 1, launch))]
        section = self.section(*points)
        logs = [math.log(theirs / ours) for ours, theirs in times]
        half = T_975_OF_2 * statistics.stdev(logs) / math.sqrt(3)
        ratio = section.compared(section.library, section.own[0], 8)
        self.assertAlmostEqual(math.log(ratio.value), statistics.mean(logs))
        self.assertAlmostEqual(math.log(ratio.low), statistics.mean(logs) - half, places=3)
        self.assertAlmostEqual(math.log(ratio.high), statistics.mean(logs) + half, places=3)
        self.assertEqual((ratio.launches, ratio.is_significant), (3, True))

    def test_of_equal_launches_are_no_surer_than_their_calls(self):
        points = [point for launch in range(3) for point in (timed("ring", 8, 1000, 100, launch), library(8, 1010, 100, launch))]
        section = self.section(*points)
        self.assertFalse(section.compared(section.library, section.own[0], 8).is_significant)

    def test_of_many_launches_are_order_statistics(self):
        points = [point for launch in range(20) for point in (timed("ring", 8, 1000, 0, launch), library(8, 1001 + launch, 0, launch))]
        ratio = self.section(*points).compared(*(self.section(*points).candidates[i] for i in (1, 0)), 8)
        # lo = floor((20 - 8.77) / 2) = 5, hi = ceil(1 + (20 + 8.77) / 2) = 16
        self.assertAlmostEqual(ratio.low, 1.005)
        self.assertAlmostEqual(ratio.high, 1.016)
        self.assertEqual(intervals.median_interval(list(range(1, 21))), (5, 16))

    def test_are_of_launches_that_measured_both(self):
        section = self.section(timed("ring", 8, 100, launch=1), library(8, 200, launch=2))
        self.assertIsNone(section.compared(section.library, section.own[0], 8))
        self.assertEqual((len(section.leaders(8)), len(section.untold(8))), (1, 1))  # nobody knows, and it is not near

    def test_over_the_best_are_never_below_one_and_agree_with_those_to_the_library(self):
        # By the ratios to the library ring is best (medians 2 and 1.86), and yet tree takes 0.995 of its time (median).
        ours, others, theirs = (1000, 1000, 1000, 1000, 1000, 1000), (995, 995, 995, 1100, 1100, 995), (2000, 2100, 1700, 2000, 2000, 1900)
        points = [point for launch, times in enumerate(zip(ours, others, theirs)) for point in (
            timed("ring", 8, times[0], 1, launch), timed("tree", 8, times[1], 1, launch), library(8, times[2], 1, launch))]
        section = self.section(*points)
        best = section.best(8)
        for candidate in section.candidates:
            over, mine, bests = section.over_best(candidate, 8), *(section.compared(section.library, one, 8) for one in (candidate, best))
            self.assertGreaterEqual(over.value, 1)
            self.assertAlmostEqual(over.value, bests.value / mine.value)
            self.assertTrue(over.low <= over.value <= over.high)
        self.assertEqual(best.algo, "ring")
        self.assertAlmostEqual(section.compared(next(one for one in section.own if one != best), best, 8).value, 0.995)
        self.assertEqual([one.algo for one in section.order(8) if one in section.leaders(8)], ["ring", "tree"])

    def test_have_a_geometric_mean_over_sizes(self):
        section = self.section(*(point for size, times in ((8, 2), (64, 8)) for point in (
            timed("ring", size, 1000, 10), library(size, 1000 * times, 10 * times))))
        mean, sizes = section.mean_compared(section.library, section.own[0])
        self.assertAlmostEqual(mean.value, 4)
        self.assertEqual(sizes, 2)
        one = section.compared(section.library, section.own[0], 8)
        self.assertLess(math.log(mean.high / mean.low), math.log(one.high / one.low))

    def test_cover_the_truth_as_often_as_they_promise(self):
        import random
        rng, covered, trials = random.Random(7), 0, 2000
        for _ in range(trials):
            logs = [intervals.Log(rng.gauss(0.3, 0.05), 0, 0) for _ in range(4)]
            ratio = intervals.over_launches(logs)
            covered += ratio.low <= math.exp(0.3) <= ratio.high
        self.assertAlmostEqual(covered / trials, 0.95, delta=0.02)


class Answer(Values):
    def rows(self, *points):
        html = summary.section_table(sections.sections_of(self.results(*points)))
        return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in re.findall("<tr>(<td.*?)</tr>", html)]

    def test_names_the_best_its_gain_over_the_library_and_its_share_of_the_limit(self):
        row, = self.rows(timed("ring", 4096, 1000, 10, limit_ns=800.0), timed("tree", 4096, 1500, 10), library(4096, 2000, 20))
        half = math.hypot(math.log(2020 / 2000), math.log(1000 / 990))
        below = math.hypot(math.log(2000 / 1980), math.log(1010 / 1000))
        self.assertEqual(row, ["all_reduce", "4K", "ring · shm", "1.00 µs", "1.0", f"2.00 [{2 * math.exp(-below):.2f}, {2 * math.exp(half):.2f}]",
                               "80", ""])

    def test_says_what_cannot_be_separated(self):
        row, = self.rows(timed("ring", 8, 1000, 100), timed("tree", 8, 1050, 100), timed("linear", 8, 3000, 100), library(8, 1020, 100))
        self.assertEqual(row[2], "ring · shm")
        self.assertIn("not told apart", row[5])
        self.assertEqual(row[7], "[mpi], tree · shm")

    def test_says_when_the_library_wins(self):
        row, = self.rows(timed("ring", 8, 1000, 1), library(8, 500, 1))
        self.assertEqual((row[2], row[5]), ("[mpi]", "library wins; next 0.50 [0.50, 0.50]"))

    def test_flags_a_limit_that_is_beaten(self):
        row, = self.rows(timed("ring", 8, 1000, 1, limit_ns=1780.0, pct_of_limit=178.0))
        self.assertEqual(row[6], "&gt;100: limit too high")
        row, = self.rows(timed("ring", 8, 1000, 50, limit_ns=1030.0, pct_of_limit=103.0))  # within its interval
        self.assertEqual(row[6], "103")

    def test_takes_the_limit_that_was_measured_again_and_the_least_of_all_launches(self):
        points = [timed("ring", 8, 1000, 1, launch=launch, point="id", limit_ns=1780.0, pct_of_limit=178.0) for launch in (1, 2)]
        lower = {"v": 1, "kind": "lower_limits", "launch": 2, "limit_ns": {"id": 900.0, "of another": 1.0}}
        self.assertEqual([point["pct_of_limit"] for point in self.results(*points, lower).points], [178.0, 90.0])
        row, = self.rows(*points, lower)
        self.assertEqual(row[6], "90")

    def test_says_why_there_is_no_share_of_a_limit(self):
        row, = self.rows(timed("ring", 8, 1000, 1))
        self.assertEqual(row[6], "– no limit known")
        overlapping = with_key(timed("ring", 8, 1000, 1, calls_of_sample=50), coll="broadcast", root=0)
        row, = self.rows(overlapping)
        self.assertEqual(row[6], "– calls overlap")

    def test_never_ranks_kinds_of_memory_or_virtual_ranks_against_each_other(self):
        kinds = [{"buf": "registered"}, {"buf": "host"}, {"buf": "cuda"}, {"buf": "cuda", "placement": "virtual ranks"},
                 {"buf": "host", "input": "rewritten"}]
        rows = self.rows(*(with_key(timed("ring", 8, 100 + i), **kind) for i, kind in enumerate(kinds)))
        self.assertEqual(len(rows), len(kinds))

    def test_leaves_wrong_results_out(self):
        row, = self.rows(timed("cheat", 8, 1, check={"state": "fail", "n_wrong": 7}), timed("ring", 8, 100), timed("tree", 8, 200))
        self.assertEqual(row[2], "ring · shm")

    def test_takes_the_median_over_launches_and_spreads_it_by_students_t(self):
        section = self.section(*(timed("ring", 8, time, 1, launch=launch) for launch, time in enumerate((1000, 1100, 1300))))
        cell = section.cell(section.candidates[0], 8)
        logs = [math.log(time) for time in (1000, 1100, 1300)]
        half = T_975_OF_2 * statistics.stdev(logs) / math.sqrt(3)
        self.assertEqual((cell.p50, cell.launches), (1100, 3))
        self.assertAlmostEqual(math.log(cell.time.low), statistics.mean(logs) - half, places=3)
        self.assertAlmostEqual(math.log(cell.time.high), statistics.mean(logs) + half, places=3)

    def test_distinguishes_variants_of_an_algorithm(self):
        variants = ({}, {"radix": 4}, {"channels": 2}, {"radix": 4, "channels": 2}, {"seg": 65536}, {"seg": 16384})
        candidates = self.section(*(with_key(timed("tree", 8, 100), **variant) for variant in variants)).candidates
        self.assertEqual(sorted(candidate.label for candidate in candidates),
                         ["tree · shm", "tree · shm (16K segments)", "tree · shm (2 channels)",
                          "tree · shm (64K segments)", "tree · shm (radix 4)", "tree · shm (radix 4, 2 channels)"])


class OneRatio(Values):
    """Of the same two candidates at the same size, wherever it stands: of launches, which differ threefold and in who is best."""

    TIMES = ((1000, 900, 2000), (3000, 3300, 7000), (1000, 1200, 2500), (500, 900, 1100), (2000, 1900, 4600), (700, 710, 1300))
    EXPECTED = math.exp(statistics.median(math.log(mpi / ring) for ring, _, mpi in TIMES))

    def points(self):
        return [point for launch, (ring, tree, mpi) in enumerate(self.TIMES) for point in (
            timed("ring", 8, ring, 1, launch), timed("tree", 8, tree, 1, launch), library(8, mpi, 1, launch))]

    def test_is_the_median_over_launches_of_those_within_each(self):
        section, expected = self.section(*self.points()), self.EXPECTED
        ring, mpi = section.candidates[0], section.library
        html = summary.section_table([section])
        self.assertIn(f"{expected:.2f} [{1300 / 700:.2f}, {2.5:.2f}]", html)
        self.assertAlmostEqual(decision.choice_of(section, 8).gain.value, expected)
        self.assertAlmostEqual(section.ratio(mpi, 8).value, expected)
        self.assertEqual((ring.algo, section.ratio(ring, 8).value), ("ring", 1))

    @needs_matplotlib
    def test_is_what_figures_show(self):
        from plots import heatmap, over_size
        section, expected = self.section(*self.points()), self.EXPECTED
        shown = {drawing.kind: {row[0]: row for row in drawing.rows()} for drawing in
                 [*over_size.drawings(section), *heatmap.drawings(section), decision.drawing([section], lambda *_: [])]}
        self.assertAlmostEqual(next(row[2] for name, row in shown["ratio"].items() if name.startswith("ring")), expected)
        self.assertAlmostEqual(shown["heatmap"]["[mpi]"][3], expected)
        self.assertAlmostEqual(shown["decisions"]["all_reduce"][4], expected)

    def test_chooses_the_best_whose_median_may_be_the_larger(self):
        # tree is slower in each launch that has both, but missed the slowest launch.
        times = ((1000, 1100, 2000), (3000, 3300, 6000), (1150, 1160, 2300))
        points = [point for launch, (ring, tree, mpi) in enumerate(times) for point in (
            timed("ring", 8, ring, 1, launch), library(8, mpi, 1, launch), *([timed("tree", 8, tree, 1, launch)] if launch != 1 else []))]
        section = self.section(*points)
        self.assertLess(section.cell(section.order(8)[1], 8).p50, section.cell(section.best(8), 8).p50)
        self.assertEqual(section.best(8).algo, "ring")


class DecisionMap(Values):
    def choices(self, *points):
        return [decision.choice_of(self.section(*points), size) for size in self.section(*points).sizes]

    def test_has_no_winner_where_the_library_is_as_good(self):
        tied, won, lost = self.choices(
            timed("ring", 8, 1000, 100), library(8, 1050, 100), timed("ring", 64, 1000, 10), library(64, 2000, 10),
            timed("ring", 512, 1000, 10), library(512, 500, 5))
        self.assertEqual([choice.is_significant for choice in (tied, won, lost)], [False, True, True])
        self.assertAlmostEqual(won.gain.value, 2)
        self.assertAlmostEqual(lost.gain.value, 0.5)
        self.assertTrue(lost.winner.is_baseline)

    def test_of_no_library_needs_a_winner_that_stands_alone(self):
        tied, = self.choices(timed("ring", 8, 1000, 100), timed("tree", 8, 1050, 100))
        won, = self.choices(timed("ring", 8, 1000, 10), timed("tree", 8, 1500, 10))
        self.assertEqual((tied.is_significant, won.is_significant), (False, True))

    @needs_matplotlib
    def test_draws_a_white_box_where_nothing_is_significant(self):
        points = timed("ring", 8, 1000, 100), library(8, 1050, 100), timed("ring", 64, 1000, 10), library(64, 2000, 10)
        made = decision.drawing([self.section(*points)], lambda *_: [])
        from plots import palette, style
        with style.settings():
            axes = made.draw(style.Canvas(palette.Palette(self.section(*points).candidates))).axes[0]
        self.assertEqual([text.get_text() for text in axes.texts], ["=", "2.00"])
        self.assertEqual(len(axes.patches), 2)
        self.assertEqual([row[1:3] + row[-1:] for row in made.rows()], [(8, "ring · shm", False), (64, "ring · shm", True)])


class Setups(Values):
    def split(self, *changes):
        lines = []
        for number, change in enumerate(changes, start=1):
            lines += [launch_of(number, **change), timed("ring", 8, 100 * number, launch=number, session="s")]
        results = self.results(synthetic.session(), *lines)
        told_apart = setups.Setups(results)
        return sections.sections_of(results, told_apart), told_apart

    def test_that_agree_are_repetitions(self):
        found, told_apart = self.split({}, {"env": {"OMPI_MCA_btl": "self,vader", "SLURM_JOB_ID": "7"}})
        self.assertEqual([cell.launches for cell in found[0].cells.values()], [2])
        self.assertEqual(told_apart.differences(), [])

    def test_that_differ_are_never_merged_and_named(self):
        for change in ({"mpi": {"vendor": "MPICH", "version": "4.0.2"}}, {"env": {"OMPI_MCA_btl": "tcp"}}, {"env": {}}):
            found, told_apart = self.split({}, change)
            self.assertEqual([section.shape.setup.split(":")[0] for section in found], ["setup A", "setup B"], change)
            self.assertEqual(len(told_apart.differences()), 1)

    def test_with_two_libraries_in_each_launch_do_not_differ(self):
        both = {"ucx": {"vendor": "UCX", "version": "1.13.1"}}
        self.assertEqual(len(self.split(both, both)[0]), 1)
        self.assertEqual(len(self.split({}, both)[0]), 1)  # what is not said is no difference


class Steps(Values):
    def steps(self, *methods):
        results = self.results(*methods)
        return steps.steps_of(results, setups.Setups(results))

    def test_one_shape_is_one_section_and_its_finding_compares_with_the_library(self):
        one, = self.steps(step("ring/shm", 1.0), step("mpi", 4.0), step("mpi-nonblocking", 5.0),
                          step("bruck/shm", 0, skipped="no such algorithm"))
        self.assertEqual([method.name for method in one.methods()], ["ring/shm", "mpi", "mpi-nonblocking"])
        self.assertEqual(steps.finding(one), "ring/shm: step of 21.0 ms, 1.00 ms of it exposed; [mpi] at best takes 1.14× [1.14, 1.14]")
        self.assertAlmostEqual(one.methods()[0].hidden, 4e6)

    def test_that_no_interval_tells_apart_are_tied(self):
        one, = self.steps(step("ring/shm", 1.0, half=0.5), step("tree/shm", 1.2, half=0.5), step("mpi", 4.0, half=0.5))
        self.assertEqual(one.tied(), {"tree/shm": True})

    def test_hidden_communication_is_never_more_than_computing_nor_less_than_nothing(self):
        quick, = self.steps(step("ring/shm", -1.0, compute=2.0))
        self.assertEqual(quick.methods()[0].hidden, 2e6)
        slow, = self.steps(step("ring/shm", 9.0))
        self.assertEqual(slow.methods()[0].hidden, 0)

    def test_a_librarys_method_is_known_wherever_it_stands(self):
        for method in ("mpi", "mpi-nonblocking+bf16", "all-reduce mpi", "nccl"):
            self.assertTrue(steps.is_library(method), method)
        for method in ("ring/mpi", "auto, every step", "1 server sync"):
            self.assertFalse(steps.is_library(method), method)

    def test_overlap_is_shown_only_where_communication_is_more_than_noise(self):
        from plots import steps_table
        of_quick = step("ring/shm", 0.2, communication=0.1, ci95_step_ns=[20_000_000, 20_400_000])
        place = steps_table.COLUMNS.index("overlap")
        self.assertEqual(steps_table._row(of_quick)[place], "-")
        self.assertEqual(steps_table._row(step("ring/shm", 1.0))[place], "0.80")


class Selection(Values):
    def test_takes_some_candidates_and_sizes_and_says_so(self):
        results = self.results(*(point for size in (8, 4096, 65536) for point in (
            timed("ring", size, 100), timed("tree", size, 200), library(size, 300))))
        some = selection.select(results, ["ring", "mpi"], [(4096, 1 << 20)])
        self.assertEqual({(point["key"]["algo"], point["key"]["bytes"]) for point in some.points},
                         {("ring", 4096), ("", 4096), ("ring", 65536), ("", 65536)})
        self.assertEqual(some.selection, "the candidates ring, mpi and the sizes 4K to 1M")

    def test_families_differ_in_the_number_of_ranks_alone(self):
        points = [with_key(timed(algo, 4096, 100 * ranks), nranks=ranks, ppn=ranks) for ranks in (2, 4, 8) for algo in ("ring", "tree")]
        points.append(with_key(timed("ring", 4096, 1), nranks=16, ppn=4))  # on several hosts
        figures = scaling.drawings(sections.sections_of(self.results(*points)), lambda *_: [])
        self.assertEqual([figure.kind for figure in figures], ["scaling-4K"])
        self.assertEqual([row[1:3] for row in figures[0].rows() if row[0] == "ring · shm"], [(2, 0.2), (4, 0.4), (8, 0.8)])

    def test_families_are_told_apart_by_where_their_ranks_are(self):
        points = [with_key(timed("ring", 4096, time * ranks), nranks=ranks, ppn=ranks if ppn == "all" else ppn)
                  for time, ppn in ((100, "all"), (1000, 1), (10000, 2), (100000, None)) for ranks in (4, 8)]
        figures = scaling.drawings(sections.sections_of(self.results(*points)), lambda *_: [])
        self.assertEqual({(figure.details.partition("memory")[2].strip(", "), figure.rows()[0][2]) for figure in figures},
                         {("on one host", 0.4), ("1 rank on each host", 4), ("2 ranks on each host", 40), ("", 400)})
        self.assertEqual(len({figure.slug for figure in figures}), 4)


if __name__ == "__main__":
    unittest.main()
