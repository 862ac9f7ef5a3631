# SPDX-License-Identifier: Apache-2.0
"""A median of fewer than six calls has no 95 % interval: a report says so wherever it shows one, and concludes nothing."""

import csv
import math
import re
import statistics
import unittest

from report_files import Drawn, ReportFiles, legend_of, library, needs_matplotlib, run, step, timed
from plots import records, sections, setups, steps, steps_table, summary, trust  # found through report_files
from tutti import intervals

T_975_OF_2 = 4.302652729911275  # Student's t with two degrees of freedom, 97.5 %


def few(point, calls=1):
    """With as many calls as a record of few has: from the least to the largest."""
    return point | {"n": calls}


def pair(size, ours, theirs, half=1, launch=1, calls=100):
    return [few(timed("ring", size, ours, half, launch), calls), few(library(size, theirs, half, launch), calls)]


class Unknown(ReportFiles):
    def section(self, points):
        only, = sections.sections_of(records.read([self.lines(*points)]))
        return only

    def gain(self, points, size=8):
        section = self.section(points)
        return section.compared(section.library, section.own[0], size)

    def figures(self, points, *options):
        done = run(self.lines(*points), "--figures", self.folder / "figures", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

        def rows(kind):
            path, = (self.folder / "figures").glob(f"*-{kind}.csv")
            return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        return rows


class Intervals(Unknown):
    def test_are_of_so_many_samples_that_the_least_and_the_largest_enclose_the_median(self):
        for samples in range(1, 20):
            # All of them are on one side of the median with a chance of 2 / 2^n.
            encloses = 1 - 2 / 2 ** samples >= 0.95
            for ends in ("ci95_p50_ns", "ci95_step_ns"):
                found = intervals.interval_of({"n": samples, ends: [90, 110]})
                self.assertEqual(found, (90, 110) if encloses else None, samples)

    def test_of_ratios_are_unknown_where_one_of_both_medians_is(self):
        for ours, theirs, known in ((5, 100, False), (100, 5, False), (6, 6, True)):
            gain = self.gain([few(timed("ring", 8, 1000, 1), ours), few(library(8, 6000, 1), theirs)])
            self.assertAlmostEqual(gain.value, 6)
            self.assertEqual((gain.is_known, gain.is_significant), (known, known))

    def test_of_the_mean_over_sizes_are_unknown_where_that_of_one_size_is(self):
        for calls, known in ((1, False), (100, True)):
            section = self.section([*pair(8, 1000, 2000), *pair(64, 1000, 8000, calls=calls)])
            mean, sizes = section.mean_compared(section.library, section.own[0])
            self.assertAlmostEqual(mean.value, 4)
            self.assertEqual((mean.is_known, sizes), (known, 2))

    def test_of_several_launches_are_those_between_them(self):
        times = ((1000, 2100), (1000, 2000), (1000, 1900))
        gain = self.gain([point for launch, (ours, theirs) in enumerate(times) for point in pair(8, ours, theirs, launch=launch, calls=1)])
        half = T_975_OF_2 * statistics.stdev(math.log(theirs / ours) for ours, theirs in times) / math.sqrt(3)
        self.assertAlmostEqual(math.log(gain.high / gain.value), half, places=3)
        self.assertAlmostEqual(math.log(gain.value / gain.low), half, places=3)

    def test_of_launches_that_agree_are_no_narrower_than_those_that_know_say(self):
        # Each launch that knows is sure to sqrt(2) ln(1.1), and the mean of three to that over sqrt(3).
        points = [point for launch in range(3) for point in pair(8, 1000, 2000, launch=launch, calls=1 if launch else 100)]
        points = [point | {"ci95_p50_ns": [round(point["t_ns"]["p50"] / 1.1), round(point["t_ns"]["p50"] * 1.1)]} for point in points]
        gain = self.gain(points)
        self.assertAlmostEqual(math.log(gain.high / gain.value), math.sqrt(2 / 3) * math.log(1.1), places=3)


class Answer(Unknown):
    def cells(self, points):
        html = summary.section_table(sections.sections_of(records.read([self.lines(*points)])))
        row, = re.findall("<tr>(<td.*?)</tr>", html)
        return [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)]

    def test_has_question_marks_for_intervals(self):
        cells = self.cells([*pair(8, 1000, 6090, calls=1), few(timed("tree", 8, 5000, 1))])
        self.assertEqual((cells[2], cells[4], cells[5]), ("ring · shm", "?", "6.09 [?]"))
        self.assertEqual(cells[7], "too few calls: 2")  # five times the time, and yet nobody knows

    def test_names_those_near_that_nobody_can_tell_from_the_best_the_nearest_first(self):
        near, nearer, far = few(timed("tree", 8, 1099, 1)), timed("chain", 8, 1001, 5), few(timed("linear", 8, 1101, 1))
        self.assertEqual(self.cells([far, near, nearer, *pair(8, 1000, 6090)])[7], "chain · shm, tree · shm; too few calls: 1")
        within = few(timed("tree", 8, 1500, 1))  # the interval of the best's time
        self.assertEqual(self.cells([within, timed("ring", 8, 1000, 500), library(8, 9000, 1)])[7], "tree · shm")

    def test_of_enough_calls_has_none(self):
        self.assertNotIn("?", "".join(self.cells(pair(8, 1000, 6090, calls=6))))

    def test_of_steps_calls_nothing_longer(self):
        for n, said in ((5, "at best is not told apart"), (6, "at best takes 1.14×")):
            results = records.read([self.lines(step("ring/shm", 1.0, n=n), step("mpi", 4.0, n=n))])
            one, = steps.steps_of(results, setups.Setups(results))
            self.assertEqual(one.tied(), {"mpi": False} if n < 6 else {})
            self.assertIn(said, steps.finding(one))

    def test_of_steps_names_those_near_and_counts_those_of_too_few(self):
        results = records.read([self.lines(step("ring/shm", 1.0), step("tree/shm", 1.5, n=5), step("chain/shm", 4.0, n=5), step("mpi", 9.0, n=5))])
        row = re.findall("<td.*?>(.*?)</td>", steps_table.answer_table(steps.steps_of(results, setups.Setups(results))))
        self.assertEqual(row[-1], "tree/shm; too few steps: 2")  # 21, 22.5, 25 and 30 ms

    def test_says_of_how_many_points_nothing_is_known(self):
        points = [*pair(8, 1000, 2000, half=500, calls=5), *pair(64, 1000, 2000)]
        notes = {note.mark: note.text for note in trust.Trust(records.read([self.lines(*points)])).notes(
            [point | {"file": "r"} for point in points])}
        self.assertIn("2 medians of 4 ", notes["too few calls"])
        self.assertNotIn("unsteady", notes)  # which is another thing
        notes = trust.Trust(records.Results()).notes([step("ring/shm", 1.0, n=5) | {"file": "r"}])
        self.assertIn("too few steps", [note.mark for note in notes])


@needs_matplotlib
class Figures(Unknown, Drawn):
    def test_data_of_curves_has_no_interval_and_says_why(self):
        rows = self.figures([*pair(8, 1000, 2000, calls=5), *pair(64, 1000, 2000)])
        for kind in ("ratio", "latency", "bandwidth"):
            for row in rows(kind):
                self.assertEqual((row["low"] == "", row["high"] == "", row["mark"] == "too few calls"), (row["x"] == "8",) * 3, (kind, row))
        self.assertEqual([row["low_ns"] == "" for row in rows("spread")], [True, False] * 2)
        self.assertEqual([(row["bytes"], row["significant"], row["low"] == "") for row in rows("decisions")],
                         [("8", "False", True), ("64", "True", False)])

    def test_curves_have_a_question_mark_instead_of_a_bar(self):
        drawing, axes = self.drawn([*pair(8, 1000, 2000, calls=5), *pair(64, 1000, 2000)], "ratio")
        from plots import style
        marks = [list(line.get_xdata()) for line in axes.lines if line.get_marker() is style.QUESTION]
        self.assertEqual(marks, [[8]])
        self.assertEqual([segment[0][0] for bars in axes.collections for segment in bars.get_segments()], [64])
        self.assertIn("?: too few calls", drawing.caption)
        sure, _ = self.drawn(pair(8, 1000, 2000), "ratio")
        self.assertNotIn("?", sure.caption)

    def test_the_map_has_the_number_with_a_question_mark_and_no_colour(self):
        drawing, axes = self.drawn([*pair(8, 1000, 2000, calls=5), *pair(64, 1000, 3000)], "decisions")
        self.assertEqual([text.get_text() for text in axes.texts], ["2.00 ?", "3.00"])
        self.assertEqual(axes.patches[0].get_facecolor(), (1, 1, 1, 1))
        self.assertEqual([text.get_text() for text in axes.figure.legends[0].get_texts()], ["ring", "too few calls"])

    def test_the_map_says_in_each_box_without_a_number_why(self):
        tied = [timed("ring", 8, 1000, 100), timed("tree", 8, 1500, 1), library(8, 1010, 100)]
        points = [*tied, *pair(64, 1000, 6000, calls=5), timed("ring", 512, 1000, 1), timed("tree", 512, 1500, 1),
                  few(timed("ring", 4096, 1000)), few(timed("tree", 4096, 1500))]
        drawing, axes = self.drawn(points, "decisions")
        self.assertEqual([text.get_text() for text in axes.texts], ["=", "6.00 ?", "no\nlibrary", "no\nlibrary"])
        for said in ("=: not told apart", "no library: it was not measured", "?: too few calls"):
            self.assertIn(said, drawing.caption)
        drawing, _ = self.drawn(pair(8, 1000, 2000), "decisions")
        self.assertNotIn("no library", drawing.caption)

    def test_the_heat_map_tells_unknown_from_tied(self):
        points = [timed("ring", 8, 1000, 1), timed("tree", 8, 1001, 5), few(timed("chain", 8, 1500, 5))]
        _, axes = self.drawn(points, "heatmap")
        self.assertEqual([text.get_text() for text in axes.texts], ["1.00 ★", "1.00 ≈", "1.50 ?"])

    def test_bars_of_steps_have_no_ends(self):
        _, axes = self.drawn([step("ring/shm", 1.0, n=5), step("mpi", 4.0, n=5)], "bars")
        self.assertEqual([text.get_text() for text in axes.texts], ["1.00 ms", "? 4.00 ms"])
        self.assertEqual(len(axes.lines), 0)

    def test_bars_of_steps_have_a_legend_of_what_is_there(self):
        _, axes = self.drawn([step("ring/shm", 5.0), step("mpi", 5.0)], "bars")  # all of it exposed
        self.assertEqual(legend_of(axes), ["computing", "communication exposed"])


if __name__ == "__main__":
    unittest.main()
