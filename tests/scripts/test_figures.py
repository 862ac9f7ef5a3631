# SPDX-License-Identifier: Apache-2.0
"""Every kind of figure as a reader sees it on paper: nothing is cut, covered, too small or unexplained, and it looks as its reference picture."""

import tempfile
import unittest
from pathlib import Path

from report_files import ReportFiles, library, needs_matplotlib, timed, with_key
from test_drawn import box, machine, schedule, table

PICTURES = Path(__file__).resolve().parent / "pictures"
KINDS = {"ratio", "limit", "latency", "bandwidth", "network", "energy", "gpu-energy", "model", "heatmap", "spread", "levels", "scaling", "decisions", "bars",
         "comparison", "multiples-ratio", "multiples-limit", "multiples-latency", "multiples-bandwidth"}


def described():
    """{name: (module, settings, description)} of the figures that are drawn from one description."""
    from plots import history_figure, machine_figure, schedule_figure, style, table_figure
    import figure_samples
    exchange = [(begin, end, begin, begin) for begin in range(4) for end in range(4) if begin != end]
    scattered = [(rank, (rank + 1) % 4, chunk, chunk) for rank in range(4) for chunk in range(0, 12, 2)]
    choices = table(box(0, 0.5, "tree/shm"), box(0.5, 9, "ring/shm"), box(9, 12, "halving-doubling/shm s=128K", origin="interpolated"),
                    box(12, 19, "mpi", algorithm="", gain="", short_gain="", origin="kept"))
    return {"machine": (machine_figure, style.PICTURE, machine(without=[2])), "switches": (machine_figure, style.PICTURE, machine(nvswitches="2 NVSwitches")),
            "schedule": (schedule_figure, style.PICTURE, schedule(exchange, scattered, [(0, 3, 0, 3), (2, 2, 0, 0)])),
            "table": (table_figure, style.PICTURE, choices), "history": (history_figure, style.SCREEN, figure_samples.history())}


def plain():
    """A figure without faults: two lines over four sizes, with an interval, a sign, a legend and a word."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator
    from plots import style
    sizes = (8, 64, 512, 4096)
    figure = Figure(figsize=(3.5, 2.4), dpi=200)
    axes = figure.add_axes((0.15, 0.4, 0.8, 0.55))
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, map(str, sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 10)
    axes.plot(sizes, (2, 3, 4, 5), "o-", markersize=3)
    axes.plot(sizes, (4, 5, 6, 7), "s-", markersize=3)
    axes.vlines(sizes, (1, 2, 3, 4), (3, 4, 5, 6))
    look = {"marker": style.QUESTION, "markersize": 5, "linestyle": "none", "color": "black"}
    axes.plot([64], [8], clip_on=False, **look)
    axes.text(512, 9, "word", fontsize=8)
    axes.set_xlabel("bytes", fontsize=8)
    figure.legend([axes.lines[0], axes.lines[1], Line2D([], [], **look)], ["ring", "tree", "too few calls"], loc="lower center", ncols=3, fontsize=7)
    return figure, axes


# The change of the figure, by the key word of the fault that must be found.
def _legend_outside(figure, _):
    figure.legends[0].set_bbox_to_anchor((0.7, 0, 1, 1))


def _label_clipped(_, axes):
    axes.xaxis.set_label_coords(0.5, -0.75)


def _glyph_off_axis(_, axes):
    axes.lines[2].set_ydata([10.2])


def _points_off_axis(_, axes):
    axes.set_ylim(0, 4.9)


def _marker_cut(_, axes):
    axes.set_ylim(2, 10)


def _signs_on_each_other(_, axes):
    axes.plot([64], [8.2], **{name: getattr(axes.lines[2], f"get_{name}")() for name in ("marker", "markersize")})


def _tick_missing(_, axes):
    axes.set_xticks((8, 512, 4096), ("8", "512", "4096"))


def _names_on_each_other(_, axes):
    axes.set_xticks((8, 64, 512, 4096), [f"{name} bytes of a message" for name in (8, 64, 512, 4096)])


def _words_on_each_other(_, axes):
    axes.text(512, 9.2, "other", fontsize=8)


def _sign_on_a_word(_, axes):
    axes.text(64, 8, "word", ha="center", va="center", fontsize=8)


def _tiny_letters(_, axes):
    axes.texts[0].set_fontsize(5.5)


def _legend_over_points(figure, _):
    figure.legends[0].set_bbox_to_anchor((0, 0.5, 1, 1))


def _legend_of_half_the_height(figure, axes):
    figure.legends[0].remove()
    figure.set_figheight(1)
    figure.legend(axes.lines[:2] * 4, list("abcdefgh"), ncols=1, fontsize=7, loc="center right")


def _sign_without_explanation(figure, _):
    figure.legends[0].get_texts()[2].set_text("nothing")
    figure.legends[0].findobj(lambda artist: hasattr(artist, "get_marker"))[-1].set_marker("o")


def _interval_cut(_, axes):
    axes.vlines([512], 5, 12)


def _values_without_numbers(_, axes):
    axes.set_yscale("log")
    axes.set_ylim(1.1, 9)
    axes.set_yticks([])
    axes.set_yticks([], minor=True)


def _axes_empty(figure, _):
    figure.add_axes((0.6, 0.6, 0.1, 0.1)).set(xticks=[], yticks=[])


def _entries_alike(figure, axes):
    figure.legends[0].remove()
    figure.legend(axes.lines[:1] * 2 + axes.lines[2:3], ["ring", "tree", "too few calls"], loc="lower center", ncols=3, fontsize=7)


def _lines_of_unknown_width(_, axes):
    axes.vlines([100], 4, 5, linewidth=4)


def _words_torn(_, axes):
    axes.set_xlabel("bytes ·\nwords", fontsize=8)


PLANTED = ((_legend_outside, "outside"), (_label_clipped, "outside"), (_glyph_off_axis, "glyph"), (_points_off_axis, "glyph"), (_marker_cut, "glyph"),
           (_signs_on_each_other, "glyph"), (_sign_on_a_word, "glyph"), (_tick_missing, "tick"), (_values_without_numbers, "tick"),
           (_names_on_each_other, "overlap"), (_words_on_each_other, "overlap"), (_tiny_letters, "small"), (_legend_over_points, "covered"),
           (_legend_of_half_the_height, "large"), (_sign_without_explanation, "unexplained"), (_interval_cut, "cut"), (_axes_empty, "empty"),
           (_entries_alike, "alike"), (_lines_of_unknown_width, "unexplained"), (_words_torn, "torn"))


@needs_matplotlib
class PlantedFaults(unittest.TestCase):
    def faults(self, plant=None, printed=None):
        from figure_checks import faults
        from plots import style
        with style.settings(style.PAPER):
            figure, axes = plain()
            if plant:
                plant(figure, axes)
            return faults(figure, printed)

    def test_are_not_in_a_good_figure(self):
        self.assertEqual(self.faults(), [])

    def test_are_found(self):
        for plant, word in PLANTED:
            with self.subTest(plant.__name__):
                self.assertIn(word, {fault.split(":")[0] for fault in self.faults(plant)})

    def test_are_letters_that_become_too_small_in_print(self):
        self.assertEqual({fault.split(":")[0] for fault in self.faults(printed=2.0)}, {"small"})


@needs_matplotlib
class HardCases(ReportFiles):
    """Results that few figures have."""

    def multiples(self):
        """A ratio of one collective that hardly changes, and one from 1/300 to 300 with an interval that leaves the axes."""
        from plots import figures, records
        points = [with_key(point, coll=coll, nranks=ranks) for coll, far in (("all_reduce", 1.2), ("broadcast", 300)) for ranks in (2, 4)
                  for size, factor in ((8, 1), (64, far), (512, 1 / far), (4096, 1))
                  for point in (timed("ring", size, 1000 * factor, 900 if size == 512 else 10), timed("tree", size, 900, 10), library(size, 1000, 10))]
        return figures.report_of(records.read([self.lines(*points)]), ["multiples-ratio", "multiples-latency"])

    def test_have_no_fault(self):
        import figure_samples
        from figure_checks import faults
        from plots import style
        report = self.multiples()
        self.assertEqual(len(report.multiples), 2)
        for canvas in figure_samples.canvases(report).values():
            with style.settings(canvas.style):
                for drawing in report.multiples:
                    self.assertEqual(faults(drawing.draw(canvas)), [], drawing.name)

    def test_of_many_signs_at_one_point_keep_them_apart(self):
        from figure_checks import faults
        from plots import palette, signs, style
        with style.settings(style.PAPER):
            canvas = style.Canvas(palette.Palette(set()), style.PAPER)
            figure, axes = plain()
            axes.lines[2].remove()
            many = [signs.Sign("few", style.QUESTION, 8, 0, "black", signs.AROUND) for _ in range(9)]
            signs.put(axes, many, [(8, 0)], canvas)
            self.assertEqual(faults(figure), [])

    def test_have_numbers_on_each_axis_of_values(self):
        from matplotlib.figure import Figure
        from figure_checks import faults
        from plots import style, ticks
        with style.settings(style.PAPER):
            for height in (0.5, 1, 2.5):
                for low in (0.003, 1.1, 40):
                    for far in (1.2, 1.9, 4, 30, 1e3, 1e9):
                        figure = Figure(figsize=(3, height + 0.4))
                        axes = figure.add_axes((0.3, 0.2 / (height + 0.4), 0.6, height / (height + 0.4)))
                        axes.set_xticks([])
                        axes.plot([1, 2], [low, low * far])
                        ticks.log_values(axes, low, low * far)
                        self.assertEqual(faults(figure), [], (height, low, far))


@needs_matplotlib
class EveryKind(unittest.TestCase):
    """All are drawn once, as that takes most of the time."""

    @classmethod
    def setUpClass(cls):
        import figure_pictures
        import figure_samples
        from figure_checks import faults
        from plots import style
        cls.kinds, cls.faults, cls.pictures, cls.stage = set(), {}, {}, figure_pictures
        with tempfile.TemporaryDirectory() as folder:
            report = figure_samples.report(Path(folder))
        first = figure_samples.first_of_each_kind(report)
        for name, canvas in figure_samples.canvases(report).items():
            with style.settings(canvas.style):
                for kind, drawing in first.items():
                    cls.kinds.add(kind)
                    figure = drawing.draw(canvas)
                    cls.faults[f"{kind} at {name}"] = faults(figure)
                    if kind not in cls.pictures:
                        cls.pictures[kind] = figure_pictures.picture_of(figure)
        for name, (module, look, description) in described().items():
            with style.settings(look):
                figure = module.draw(description)
                cls.faults[name] = faults(figure)
                cls.pictures[name] = figure_pictures.picture_of(figure)

    def test_is_drawn(self):
        self.assertEqual(self.kinds, KINDS)

    def test_has_no_fault_at_one_and_at_two_columns(self):
        for name, found in self.faults.items():
            with self.subTest(name):
                self.assertEqual(found, [])

    def test_looks_as_its_reference_picture(self):
        self.stage.skip_other_versions(self)
        for name, picture in self.pictures.items():
            with self.subTest(name):
                self.stage.expect(self, PICTURES / f"{name}.png", picture)
        self.assertEqual({path.stem for path in PICTURES.glob("*.png")}, set(self.pictures))

    def test_whose_curve_is_missing_looks_different(self):
        """Without one line of the plain figure, and with all of it a little further up."""
        from plots import style

        def picture(change):
            with style.settings(style.PAPER):
                figure, axes = plain()
                change(axes)
                return self.stage.picture_of(figure)
        whole = picture(lambda axes: None)
        self.assertGreater(self.stage.difference(whole, picture(lambda axes: axes.lines[0].remove())), self.stage.MOST)
        self.assertLess(self.stage.difference(whole, picture(lambda axes: axes.set_position((0.155, 0.405, 0.8, 0.55)))), self.stage.MOST)


if __name__ == "__main__":
    unittest.main()
