# SPDX-License-Identifier: Apache-2.0
"""Finds in a drawn figure what a reader of the printed page would stumble over, from the renderer's own boxes."""

from itertools import combinations

import numpy
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.transforms import Bbox

from report_files import ReportFiles  # noqa: F401  (finds plots)
from plots import style

SMALLEST = 6       # points in print
SLACK = 0.6        # points by which boxes may overlap or leave
LEADING = 0.13     # share of the letters' height, at the top and bottom of a text's box: air
MOST_LEGEND = 0.5  # share of the figure's height


def faults(figure, printed=None):
    """The faults as sentences that begin with a key word; `printed` is the width on paper in inches, if that is less than the figure's."""
    figure.draw_without_rendering()
    checks = (_outside, _overlaps, _small, _large_legends, _covered_points, _glyphs, _ticks, _cut_intervals, _empty, _unexplained, _alike, _torn)
    return [fault for check in checks for fault in check(_Drawn(figure, min(1, (printed or figure.get_figwidth()) / figure.get_figwidth())))]


class _Drawn:
    """A figure with its texts and points as they are drawn."""

    def __init__(self, figure, scale):
        self.figure, self.scale, self.pixels = figure, scale, figure.dpi / 72
        self.slack = SLACK * self.pixels
        self.legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
        self.tick_labels = {(axes, name): _tick_labels(axis) for axes in figure.axes if axes.axison
                            for name, axis in (("x", axes.xaxis), ("y", axes.yaxis))}
        found = [*figure.texts, *(text for legend in self.legends for text in (*legend.get_texts(), legend.get_title()))]
        for axes in figure.axes:
            found += [*axes.texts, axes.title, *(axis.label for axis in (axes.xaxis, axes.yaxis) if axes.axison)]
            found += [getattr(axes, name) for name in ("_left_title", "_right_title") if hasattr(axes, name)]
        found += [text for labels in self.tick_labels.values() for text in labels]
        self.texts = [text for text in found if text.get_visible() and text.get_text().strip()]
        self.boxes = [(text, self._box_of(text)) for text in self.texts]
        self.points = [point for axes in figure.axes for line in axes.lines for point in _points(axes, line, self.pixels)]

    def _box_of(self, text):
        """The box of the letters: without a margin for what stands above and below them."""
        box, air = text.get_window_extent(), LEADING * text.get_fontsize() * self.pixels
        return Bbox.from_extents(box.x0, box.y0 + air, box.x1, box.y1 - air) if text.get_rotation() % 180 == 0 else \
            Bbox.from_extents(box.x0 + air, box.y0, box.x1 - air, box.y1)

    @property
    def signs(self):
        return [point for point in self.points if point.is_sign]


class _Point:
    def __init__(self, axes, line, x, y, box):
        self.axes, self.line, self.x, self.y, self.box = axes, line, x, y, box
        self.is_sign = isinstance(line.get_marker(), Path)
        self.middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def _points(axes, line, pixels):
    marker = line.get_marker()
    if isinstance(marker, str) and marker in ("", "None", "none", " "):
        return
    style = MarkerStyle(marker, "full")
    extents = style.get_path().transformed(style.get_transform()).get_extents()
    size = line.get_markersize() * pixels
    for (x, y), (across, up) in zip(line.get_xydata(), line.get_transform().transform(line.get_xydata())):
        yield _Point(axes, line, x, y, Bbox.from_extents(across + size * extents.x0, up + size * extents.y0, across + size * extents.x1, up + size * extents.y1))


def _tick_labels(axis):
    low, high = sorted(axis.get_view_interval())
    margin = 1e-9 * (abs(low) if axis.get_scale() == "log" else max(abs(low), abs(high)))
    return [tick.label1 for ticks in (axis.get_major_ticks(), axis.get_minor_ticks()) for tick in ticks
            if low - margin <= tick.get_loc() <= high + margin and tick.label1.get_text()]


def _name(text):
    return repr(text.get_text()[:40])


def _is_inside(box, frame, slack):
    return frame.x0 - slack <= box.x0 and box.x1 <= frame.x1 + slack and frame.y0 - slack <= box.y0 and box.y1 <= frame.y1 + slack


def _share(one, other, slack):
    """Whether two boxes overlap by more than the slack, both ways."""
    return min(one.x1, other.x1) - max(one.x0, other.x0) > slack and min(one.y1, other.y1) - max(one.y0, other.y0) > slack


def _outside(drawn):
    canvas = drawn.figure.bbox
    for text, box in drawn.boxes:
        if not _is_inside(box, canvas, drawn.slack):
            yield f"outside: {_name(text)} leaves the canvas"
    for legend in drawn.legends:
        if not _is_inside(legend.get_window_extent(), canvas, drawn.slack):
            yield "outside: a legend leaves the canvas"


def _overlaps(drawn):
    for (one, one_box), (other, other_box) in combinations(drawn.boxes, 2):
        if _share(one_box, other_box, drawn.slack):
            yield f"overlap: {_name(one)} and {_name(other)}"


def _small(drawn):
    for text in drawn.texts:
        if text.get_fontsize() * drawn.scale < SMALLEST - 0.01:
            yield f"small: {_name(text)} has {text.get_fontsize() * drawn.scale:.1f} points"


def _large_legends(drawn):
    for legend in drawn.legends:
        share = legend.get_window_extent().height / drawn.figure.bbox.height
        if share > MOST_LEGEND:
            yield f"large: a legend takes {100 * share:.0f} % of the height"


def _covered_points(drawn):
    for legend in drawn.legends:
        box = legend.get_window_extent()
        if any(box.contains(*point.middle) for point in drawn.points):
            yield "covered: a legend is in front of a point"


def _glyphs(drawn):
    """Points and signs are in their axes, whole, and signs are not on top of each other or of words."""
    for point in drawn.points:
        frame = point.axes.bbox
        if not _is_inside(Bbox([point.middle, point.middle]), frame, drawn.slack) or point.is_sign and not _is_inside(point.box, frame, drawn.slack):
            yield f"glyph: one at ({point.x:g}, {point.y:g}) is outside the axes"
        elif point.line.get_clip_on() and not _is_inside(point.box, frame, drawn.slack):
            yield f"glyph: one at ({point.x:g}, {point.y:g}) is cut"
    for one, other in combinations(drawn.signs, 2):
        if _share(one.box, other.box, drawn.slack):
            yield f"glyph: signs of ({one.x:g}, {one.y:g}) and ({other.x:g}, {other.y:g}) overlap"
    for point in drawn.signs:
        for text, box in drawn.boxes:
            if _share(point.box, box, drawn.slack):
                yield f"glyph: a sign of ({point.x:g}, {point.y:g}) is on {_name(text)}"


def _ticks(drawn):
    """Each point on a logarithmic axis of sizes or ranks has a tick; each axis of values has two numbers."""
    for axes in drawn.figure.axes:
        if not axes.axison:
            continue
        if axes.get_xscale() in ("log", "symlog"):
            places = [*axes.get_xticks(), *axes.get_xticks(minor=True)]
            for x in sorted({float(point.x) for point in drawn.points if point.axes is axes}):
                if not any(abs(place - x) <= 1e-9 * max(x, 1) for place in places):
                    yield f"tick: none at {x:g}"
            if len({float(place) for place in places}) > 1 and len(drawn.tick_labels[axes, "x"]) < 2:
                yield "tick: fewer than two names below the axis"
        if axes.get_yscale() == "log" and len(drawn.tick_labels[axes, "y"]) < 2:
            yield "tick: fewer than two numbers at the left"


def _cut_intervals(drawn):
    """Where an interval leaves the axes, a sign says so."""
    for axes in drawn.figure.axes:
        low, high = sorted(axes.get_ylim())
        arrows = {(float(point.x), float(point.y)) for point in drawn.signs if point.axes is axes}
        for lines in axes.collections:
            if not isinstance(lines, LineCollection) or lines.get_transform() != axes.transData:
                continue
            for segment in lines.get_segments():
                if len(segment) != 2 or segment[0][0] != segment[1][0]:
                    continue
                x, ends = float(segment[0][0]), sorted(float(y) for _, y in segment)
                for end, is_out in ((low, ends[0] < low), (high, ends[1] > high)):
                    if is_out and not any(abs(x - at) <= 1e-9 * max(abs(x), 1) and abs(end - y) <= 1e-6 * abs(end) for at, y in arrows):
                        yield f"cut: the interval at {x:g} goes on beyond the axis"


def _empty(drawn):
    for axes in drawn.figure.axes:
        if not (axes.lines or axes.collections or axes.patches or axes.texts):
            yield "empty: axes without anything in them"


def _unexplained(drawn):
    """A sign in a box or at a point has an entry in a legend, or a word that explains it."""
    said = " ".join(text.get_text() for text in (*drawn.figure.texts, *(text for legend in drawn.legends for text in legend.get_texts())))
    handles = [handle.get_marker() for legend in drawn.legends for handle in legend.findobj(Line2D)]

    def is_explained(sign):
        letter = style.UP if sign == "↓" else style.LETTERS[sign]  # one entry for both ends of an interval
        return sign in said or any(isinstance(handle, Path) and numpy.array_equal(handle.vertices, letter.vertices) for handle in handles)
    found = {sign for axes in drawn.figure.axes if axes.axison for sign in "≈†?–" if any(sign in text.get_text() for text in axes.texts)}
    found |= {sign for sign, letter in style.LETTERS.items() for point in drawn.signs if point.line.get_marker() is letter}
    for sign in sorted(found):
        if not is_explained(sign):
            yield f"unexplained: {sign}"
    in_legend = {handle.get_linewidth() for legend in drawn.legends for handle in legend.findobj(Line2D)}
    for axes in drawn.figure.axes:
        widths = {float(width) for lines in axes.collections if isinstance(lines, LineCollection) for width in lines.get_linewidths()}
        for width in sorted(widths - in_legend) if len(widths) > 1 else ():
            yield f"unexplained: lines of {width:g} points next to others"


def _alike(drawn):
    """Each entry of a legend looks different."""
    for legend in drawn.legends:
        looks = [_look(handle) for handle in legend.legendHandles]
        for (one, text), (other, other_text) in combinations(zip(looks, legend.get_texts()), 2):
            if one and one == other:
                yield f"alike: {_name(text)} and {_name(other_text)}"


def _look(handle):
    if isinstance(handle, Patch):
        return "patch", tuple(handle.get_facecolor()), handle.get_hatch()
    marker = handle.get_marker()
    return (handle.get_color(), handle.get_linestyle(), handle.get_linewidth(), handle.get_fillstyle(), to_hex(handle.get_markerfacecolor()),
            marker.vertices.tobytes() if isinstance(marker, Path) else marker)


def _torn(drawn):
    """No line of words begins or ends with the dot that stands between two of them."""
    for text in drawn.texts:
        if any(line.strip() != line.strip("· ") for line in text.get_text().split("\n")):
            yield f"torn: {_name(text)}"
