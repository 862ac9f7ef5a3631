# SPDX-License-Identifier: Apache-2.0
"""The table and the figures of a report show the numbers of the summary; tests/results has the tests of these."""

import math
import re
import unittest

from report_files import Drawn, Values, legend_of, library, needs_matplotlib, run, step, timed, with_key
from plots import decision, scaling, sections, steps, steps_table, summary  # found through report_files


def few(point, calls=5):
    return point | {"n": calls}


def cells_of(html):
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in re.findall("<tr>(<td.*?)</tr>", html)]


class Answer(Values):
    def rows(self, *points):
        return cells_of(summary.section_table(sections.sections_of(self.results(*points))))

    def test_names_the_best_its_gain_over_the_library_and_its_share_of_the_limit(self):
        row, = self.rows(timed("ring", 4096, 1000, 10, limit_ns=800.0), timed("tree", 4096, 1500, 10), library(4096, 2000, 20))
        above = math.hypot(math.log(2020 / 2000), math.log(1000 / 990))
        below = math.hypot(math.log(2000 / 1980), math.log(1010 / 1000))
        self.assertEqual(row, ["all_reduce", "4K", "ring · shm", "1.00 µs", "1.0", f"2.00 [{2 * math.exp(-below):.2f},\u00a0{2 * math.exp(above):.2f}]",
                               "80", ""])

    def test_names_ties_and_counts_what_has_too_few_calls(self):
        row, = self.rows(timed("ring", 8, 1000, 100), timed("tree", 8, 1050, 100), timed("linear", 8, 3000, 100), library(8, 1020, 100))
        self.assertTrue(row[5].endswith(", tied"))
        self.assertEqual(row[7], "[mpi], tree · shm")
        row, = self.rows(few(timed("ring", 8, 1000)), few(library(8, 6090)), few(timed("tree", 8, 5000)))
        self.assertEqual((row[4], row[5], row[7]), ("?", "6.09 [?]", "too few calls: 2"))

    def test_of_the_library_has_its_best_rival(self):
        row, = self.rows(timed("ring", 8, 1000, 1), library(8, 500, 1))
        self.assertEqual((row[2], row[5].split()[:2]), ("[mpi]", ["library", "wins;"]))

    def test_has_a_word_for_each_kind_of_limit(self):
        overlapping = with_key(timed("ring", 8, 1000, 1, calls_of_sample=50), coll="broadcast", op="none", root=0)
        for point, word in ((timed("ring", 8, 1000, 1, limit_ns=1780.0), "invalid"), (timed("ring", 8, 1000, 50, limit_ns=1030.0), "103"),
                            (timed("ring", 8, 1000, 1), "unknown"), (overlapping, "back-to-back")):
            row, = self.rows(point)
            self.assertIn(word, row[6])

    def test_never_ranks_kinds_of_memory_or_virtual_ranks_against_each_other(self):
        kinds = [{"buf": "registered"}, {"buf": "host"}, {"buf": "cuda"}, {"buf": "cuda", "placement": "virtual ranks"},
                 {"buf": "host", "input": "rewritten"}]
        self.assertEqual(len(self.rows(*(with_key(timed("ring", 8, 100 + i), **kind) for i, kind in enumerate(kinds)))), len(kinds))

    def test_labels_variants_of_an_algorithm(self):
        variants = ({}, {"radix": 4}, {"channels": 2}, {"seg": 65536}, {"order": "topology"})
        candidates = self.section(*(with_key(timed("tree", 8, 100), **variant) for variant in variants)).candidates
        self.assertEqual(sorted(candidate.label for candidate in candidates),
                         ["tree · shm", "tree · shm (2 channels)", "tree · shm (64K segments)", "tree · shm (order by topology)",
                          "tree · shm (radix 4)"])


@needs_matplotlib
class Figures(Drawn, Values):
    def test_show_the_ratios_of_the_table(self):
        from plots import heatmap, over_size
        section = self.section(*(point for launch, times in enumerate(((1000, 900, 2000), (3000, 3300, 7000), (1000, 1200, 2500))) for point in (
            timed("ring", 8, times[0], 1, launch), timed("tree", 8, times[1], 1, launch), library(8, times[2], 1, launch))))
        best, expected = section.best(8), section.over_library(section.best(8), 8).value
        shown = {drawing.kind: {row[0]: row for row in drawing.rows()} for drawing in
                 [*over_size.drawings(section), *heatmap.drawings(section), decision.drawing([section])]}
        self.assertAlmostEqual(shown["ratio"][best.name][2], expected)
        self.assertAlmostEqual(shown["heatmap"]["[mpi]"][3], expected)
        self.assertAlmostEqual(shown["decisions"]["all_reduce"][4], expected)
        self.assertIn(f"{expected:.2f} [", summary.section_table([section]))

    def test_of_too_few_calls_have_a_question_mark_and_no_interval(self):
        from plots import style
        points = [few(timed("ring", 8, 1000, 1)), few(library(8, 2000, 1)), timed("ring", 64, 1000, 1), library(64, 3000, 1)]
        _, axes = self.drawn(points, "ratio")
        self.assertEqual([list(line.get_xdata()) for line in axes.lines if line.get_marker() is style.QUESTION], [[8]])
        self.assertEqual([segment[0][0] for bars in axes.collections for segment in bars.get_segments()], [64])
        _, axes = self.drawn(points, "decisions")
        self.assertEqual([text.get_text() for text in axes.texts], ["2.00 ?", "3.00"])
        self.assertEqual(legend_of(axes), ["ring", "too few calls"])

    def test_of_the_map_say_in_each_box_without_a_number_why(self):
        points = [timed("ring", 8, 1000, 100), timed("tree", 8, 1500, 1), library(8, 1010, 100),
                  timed("ring", 512, 1000, 1), timed("tree", 512, 1500, 1)]
        drawing, axes = self.drawn(points, "decisions")
        self.assertEqual([text.get_text() for text in axes.texts], ["≈", "–"])
        self.assertEqual([row[1:3] + row[-1:] for row in drawing.rows()], [(8, "ring · shm", False), (512, "ring · shm", True)])

    def test_of_the_heat_map_tell_unknown_from_tied(self):
        _, axes = self.drawn([timed("ring", 8, 1000, 1), timed("tree", 8, 1001, 5), few(timed("chain", 8, 1500, 5))], "heatmap")
        self.assertEqual([text.get_text() for text in axes.texts], ["1.00", "1.00 ≈", "1.50 ?"])

    def test_of_steps_mark_ties_and_have_a_legend_of_what_is_drawn(self):
        _, axes = self.drawn([step("ring/shm", 5.0, half=0.5), step("mpi", 5.2, half=0.5)], "bars")  # all of it exposed
        self.assertEqual([text.get_text() for text in axes.texts], ["5.00 ms", "≈ 5.20 ms"])
        self.assertEqual([label.split()[0] for label in legend_of(axes)], ["computing", "exposed", "tied"])
        _, axes = self.drawn([step("ring/shm", 1.0, n=5), step("mpi", 4.0, n=5)], "bars")
        self.assertEqual(([text.get_text() for text in axes.texts], len(axes.lines)), (["1.00 ms", "? 4.00 ms"], 0))


class Steps(Values):
    def steps(self, *methods):
        only, = steps.steps_of(self.results(*methods))
        return only

    def test_come_with_the_library_and_what_is_hidden(self):
        one = self.steps(step("ring/shm", 1.0), step("mpi", 4.0), step("bruck/shm", 0, skipped="no such algorithm"))
        self.assertEqual([method.name for method in one.methods], ["ring/shm", "mpi"])
        self.assertIn("1.14×", steps.finding(one))
        self.assertEqual([method.hidden for method in one.methods], [4e6, 1e6])
        self.assertEqual(self.steps(step("ring/shm", -1.0, compute=2.0)).methods[0].hidden, 2e6)  # no more than the computing

    def test_of_too_few_are_tied_where_they_are_near_and_else_counted(self):
        one = self.steps(step("ring/shm", 1.0), step("tree/shm", 1.5, n=5), step("chain/shm", 4.0, n=5), step("mpi", 9.0, n=5))
        row, = cells_of(steps_table.answer_table([one]))
        self.assertEqual(row[-1], "tree/shm; too few steps: 2")  # 21, 22.5, 25 and 30 ms

    def test_know_the_methods_of_a_library(self):
        for method in ("mpi", "mpi-nonblocking+bf16", "all-reduce mpi", "nccl"):
            self.assertTrue(steps.is_library(method), method)
        for method in ("ring/mpi", "auto, every step", "1 server sync"):
            self.assertFalse(steps.is_library(method), method)

    def test_have_an_overlap_only_where_communication_is_more_than_noise(self):
        quick = step("ring/shm", 0.2, communication=0.1, ci95_step_ns=[20_000_000, 20_400_000])
        for one, said in ((quick, "–"), (step("ring/shm", 1.0), "0.80")):
            record, = self.steps(one).records
            self.assertEqual(steps_table._row(record)[steps_table.COLUMNS.index("overlap")], said)


class Scaling(Values):
    def test_families_differ_in_the_number_of_ranks_alone(self):
        points = [with_key(timed("ring", 4096, time * ranks), nranks=ranks, ppn=ranks if ppn == "all" else ppn)
                  for time, ppn in ((100, "all"), (1000, 1), (10000, 2)) for ranks in (4, 8)]
        figures = scaling.drawings(sections.sections_of(self.results(*points)))
        self.assertEqual({(figure.kind, figure.details.partition("memory")[2].strip(", "), figure.rows()[0][2]) for figure in figures},
                         {("scaling-4K", "on one host", 0.4), ("scaling-4K", "1 rank on each host", 4), ("scaling-4K", "2 ranks on each host", 40)})


class Selection(Values):
    def test_takes_some_candidates_and_sizes(self):
        from plots import records
        source = self.lines(*(point for size in (8, 4096, 65536) for point in (timed("ring", size, 100), timed("tree", size, 200), library(size, 300))))
        some = records.read([source], ["ring", "mpi"], "4K..1M")
        self.assertEqual({(point["key"]["algo"], point["key"]["bytes"]) for point in some.points},
                         {("ring", 4096), ("", 4096), ("ring", 65536), ("", 65536)})
        done = run(source, "-o", self.folder / "x.html", "--candidates", "none")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1))
        self.assertIn("tree/shm", done.stderr)


if __name__ == "__main__":
    unittest.main()
