# SPDX-License-Identifier: Apache-2.0
"""The signs in figures: each has one meaning, stands in the legend, and buries nothing; axes of ratios are all of one kind."""

import re
import unittest

from report_files import Drawn, launch_of, legend_of, library, needs_matplotlib, timed, with_key
import synthetic  # found through report_files
from plots import records  # found through report_files


def signs_of(axes, sign):
    """Where it stands."""
    return [(x, round(float(y), 6)) for line in axes.lines if line.get_marker() is sign for x, y in zip(line.get_xdata(), line.get_ydata())]


def in_launch(*points):
    return [synthetic.session(), launch_of(), *(point | {"session": "s"} for point in points)]


@needs_matplotlib
class Signs(Drawn):
    def test_of_a_disturbed_point_are_the_dagger_of_the_text_and_in_the_legend(self):
        from plots import style
        points = in_launch(timed("ring", 8, 1000, 10, mode="barrier"), timed("tree", 8, 1500, 10), library(8, 2000, 10),
                           timed("ring", 64, 1000, 10), timed("tree", 64, 1500, 10), library(64, 2000, 10))
        for kind, value in (("ratio", 2), ("latency", 1)):
            _, axes = self.drawn(points, kind)
            self.assertEqual(signs_of(axes, style.DAGGER), [(8, value)])
            self.assertIn("disturbed", " ".join(legend_of(axes)))
            self.assertEqual([line for line in axes.lines if line.get_marker() == "x"], [])

    def test_of_disturbed_points_stand_in_the_answer_on_the_one_that_was(self):
        for ours, theirs, best, gain in ((100, 900, "ring · shm", "2.00 [1.97, 2.03] over [mpi]†"),
                                          (900, 100, "ring · shm †", "2.00 [1.97, 2.03]"),
                                          (900, 900, "ring · shm †", "2.00 [1.97, 2.03] over [mpi]†")):
            points = in_launch(timed("ring", 8, 1000, 10, n_invalid=ours - 500), library(8, 2000, 20, n_invalid=theirs - 500),
                               timed("ring", 64, 1000, 10), library(64, 2000, 20))
            page = self.report(self.lines(*points))
            row, _ = re.findall("<tr>(<td.*?)</tr>", page[page.index('id="answer"'):page.index('<nav>')])
            cells = [re.sub("<[^>]*>", "", cell).replace("\u00a0", " ") for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
            self.assertEqual((cells[2], cells[5]), (best, gain))
            drawing, axes = self.drawn(points, "decisions")
            self.assertEqual([text.get_text() for text in axes.texts], ["2.00†", "2.00"])

    def test_of_a_size_at_which_most_are_disturbed_are_a_light_band(self):
        from plots import style
        disturbed = [timed(algo, 8, 1000 + i, 10, mode="barrier") for i, algo in enumerate(("ring", "tree", "chain"))]
        _, axes = self.drawn(in_launch(*disturbed, library(8, 2000, 10), timed("ring", 64, 1000, 10), library(64, 2000, 10)), "latency")
        self.assertEqual(signs_of(axes, style.DAGGER), [])
        band, = axes.patches
        ends = sorted({x for x, _ in band.get_patch_transform().transform(band.get_path().vertices)})
        self.assertTrue(ends[0] < 8 < ends[-1] < 64)
        self.assertTrue(any(text.startswith("† most") for text in legend_of(axes)))

    def test_of_a_size_of_too_few_calls_are_a_band_too_and_daggers_where_others_had_no_call_on_time(self):
        few = [timed(algo, 8, 1000 + i, 10, n=2) for i, algo in enumerate(("ring", "tree", "chain"))]
        quiet = [timed("ring", 64, 1000, 10), library(64, 2000, 10)]
        skipped = library(8, 1, skipped="no call began on time")
        for points, said, dagger in ((few, "? most", ""), ([*few, skipped], "† most", "†")):
            _, axes = self.drawn(in_launch(*points, *quiet), "latency")
            self.assertEqual(len(axes.patches), 1)
            self.assertTrue(any(text.startswith(said) for text in legend_of(axes)))
            page = self.report(self.lines(*in_launch(*points, *quiet)))
            answer = page[page.index('id="answer"'):page.index("<nav>")]
            self.assertEqual(re.findall("ring · shm(?:\u00a0(†))?</", answer), [dagger, ""])

    def test_of_a_limit_that_is_too_high_have_another_one_in_the_legend(self):
        _, axes = self.drawn([timed("ring", 8, 1000, limit_ns=1780.0), timed("ring", 64, 1000, limit_ns=500.0)], "limit")
        self.assertEqual([list(line.get_xdata()) for line in axes.lines if line.get_marker() == "x"], [[8]])
        self.assertIn("lower bound invalid", legend_of(axes))

    def test_say_how_markers_of_transports_are_filled(self):
        for transport, expected in (("shm", []), ("mpi", ["marker of mpi"]), ("ucx", ["marker of ucx"])):
            _, axes = self.drawn([with_key(timed("ring", 8, 1000), transport=transport), library(8, 2000)], "latency")
            self.assertEqual([text for text in legend_of(axes) if text.startswith("marker of")], expected)

    def test_beyond_the_axis_are_no_markers_of_an_algorithm(self):
        from plots import palette, style
        points = [timed("ring", 8, 1000), timed("butterfly", 8, 2000, t_ns={"p05": 2000, "p50": 2000, "p95": 9000, "max": 9000})]
        _, axes = self.drawn(points, "spread")
        self.assertEqual([y for _, y in signs_of(axes, style.UP)], [round(axes.get_ylim()[1], 6)])
        self.assertIn("interval continues", legend_of(axes))
        self.assertNotIn(style.UP, [marker for _, marker, _ in palette.KNOWN.values()])

    def test_of_an_interval_that_leaves_the_axis_are_arrowheads_at_its_end(self):
        from plots import style
        # Launches are twentyfold apart: an interval to the 250-fold of what was measured.
        points = [point for launch, theirs in enumerate((500, 10_000)) for point in (
            timed("ring", 8, 1000, 1, launch), library(8, theirs, 1, launch), timed("ring", 64, 1000, 1, launch), library(64, 2000, 1, launch))]
        _, axes = self.drawn(points, "ratio")
        low, high = axes.get_ylim()
        self.assertEqual(signs_of(axes, style.UP), [(8, round(high, 6))])
        self.assertEqual(signs_of(axes, style.DOWN), [(8, round(low, 6))])
        self.assertIn("interval continues", legend_of(axes))

    def test_of_the_map_name_the_transport_where_it_is_not_the_usual_one(self):
        points = [with_key(timed("ring", 8, 1000, 1), transport="ucx"), library(8, 2000, 1), timed("ring", 64, 1000, 1), library(64, 2000, 1)]
        _, axes = self.drawn(points, "decisions")
        self.assertEqual(legend_of(axes), ["ring · ucx", "ring"])
        self.assertEqual([line.get_fillstyle() for line in axes.lines], ["left", "full"])


@needs_matplotlib
class Warnings(Drawn):
    def test_stay_inside_their_figure_and_below_all_else(self):
        from plots import figures, style
        points = [timed("ring", 8, 1000, 10), library(8, 2000, 10)]
        report = figures.report_of(records.read([self.lines(*points)]))
        notes = [records.Note(mark, "") for mark in ("oversubscribed", "host problem", "load before start", "disturbed", "one launch",
                                                     "wide intervals", "too few calls", "lower bound varies", "skipped")]
        for drawing in report.drawings():
            drawing.notes = notes
            for look in style.STYLES.values():
                with style.settings(look):
                    figure = drawing.draw(style.Canvas(report.palette(), look))
                    warning, = (text for text in figure.texts if text.get_text().startswith("! "))
                    box = warning.get_window_extent()
                    self.assertTrue(0 <= box.x0 and box.x1 <= figure.bbox.x1, (drawing.kind, look.name, box))
                    self.assertEqual(warning.get_text().replace("·", " ").split(), f"! {' '.join(note.mark for note in notes)}".split())
                    for legend in figure.legends:
                        self.assertLessEqual(box.y1, legend.get_window_extent().y0 + 1)


@needs_matplotlib
class RatioAxis(Drawn):
    def test_is_logarithmic_with_plain_numbers_however_far_they_are_apart(self):
        for times, expected in (((1500, 1600), ["1", "1.2", "1.4", "1.6"]), ((400, 60_000), ["0.5", "1", "2", "5", "10", "20", "50"]),
                                ((1500, 3_000_000), [f"{factor * 10**power}" for power in range(4) for factor in (1, 2, 5)])):
            points = [point for size, theirs in zip((8, 64), times) for point in (timed("ring", size, 1000, 1), library(size, theirs, 1))]
            _, axes = self.drawn(points, "ratio")
            low, high = axes.get_ylim()
            self.assertEqual(axes.get_yscale(), "log")
            self.assertTrue(low < 1 < times[1] / 1000 < high)
            labels = [label.get_text() for label, place in zip(axes.get_yticklabels(), axes.get_yticks()) if low <= place <= high]
            self.assertEqual(labels, expected)


if __name__ == "__main__":
    unittest.main()
