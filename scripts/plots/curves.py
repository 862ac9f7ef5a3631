# SPDX-License-Identifier: Apache-2.0
"""Lines over message size or over ranks: one way to draw them all, with their intervals."""

from dataclasses import dataclass, field

from matplotlib.lines import Line2D

from . import signs, style, ticks
from .palette import DOUBTED_GREY, LIMIT_GREY, OTHERS_GREY
from .units import counted, size_text

CUT = "Grey lines may leave the axes."
UNKNOWN = "?: too few calls for an interval."
FARTHEST = 4  # times beyond the curves in front, where the others may end
COLUMNS = ("candidate", "x", "value", "low", "high", "launches", "mark")


@dataclass(frozen=True)
class Mark:
    """One point of a line; low and high are None where there is no interval."""

    x: float
    value: float
    low: float = None
    high: float = None
    launches: int = 1
    flag: str = ""  # why it has a sign: signs.DISTURBED or signs.BEYOND
    is_unknown: bool = False  # there would be an interval, had there been more calls

    @property
    def remark(self):
        return ", ".join(filter(None, (self.flag, "too few calls" if self.is_unknown else "")))


@dataclass
class Curve:
    candidate: object  # None: a bound, which was not measured
    label: str
    marks: list
    dashes: tuple = (0, (1.5, 1.5))
    in_front: bool = True  # with markers and intervals; else thin and grey


@dataclass
class Plot:
    """The axes of some curves. `level` is a line across: of ratios, 1."""

    y_label: str
    text: object                # (mark) -> what hovering says of it
    curves: list = field(default_factory=list)
    x_label: str = ticks.SIZE
    log_y: bool = False
    top: float = None
    level: float = None  # reference ratio on a logarithmic axis
    height: float = 3.6
    is_doubted: bool = False    # its intervals are grey
    size_axis: bool = True

    @property
    def front(self):
        return [mark for curve in self.curves if curve.in_front for mark in curve.marks]

    @property
    def is_log(self):
        """Times and ratios are: of both, twice as much is the same step everywhere."""
        return self.log_y or self.level is not None and min(mark.value for mark in self.front) > 0

    @property
    def limits(self):
        """The least and the highest value of the axis. Intervals, which may say no more than "we do not know", and grey curves may leave it."""
        values, ends = [mark.value for mark in self.front], [end for mark in self.front if mark.low is not None for end in (mark.low, mark.high)]
        if not self.is_log:
            highest = max(values, default=1)
            return 0, min(filter(None, (self.top, 1.06 * max(values + ends, default=1), 1.8 * highest)), default=1) or 1
        values += [self.level] if self.level else []
        low, high = max(min(values) / 2, min(values + ends)), min(2 * max(values), max(values + ends))
        others = [mark.value for curve in self.curves if not curve.in_front for mark in curve.marks]
        return max(low / FARTHEST, min(others + [low])), min(FARTHEST * high, max(others + [high]))

    def caption(self, text):
        """With what else must be known of this one."""
        low, high = self.limits
        is_cut = any(not low <= mark.value <= high for curve in self.curves for mark in curve.marks)
        return text + (f" {UNKNOWN}" if any(mark.is_unknown for mark in self.front) else "") + (f" {CUT}" if is_cut else "")


def draw(plot, drawing, canvas):
    made = canvas.figure(plot.height)
    axes = made.add_subplot()
    legend = fill(axes, plot, canvas)
    canvas.finish(made, drawing.title, drawing.details, drawing.marks, legend, key=drawing.key)
    settle(axes, plot, canvas)
    return made


def fill(axes, plot, canvas):
    """Draws the lines. Returns (handles, labels) of the legend."""
    others = [curve for curve in plot.curves if not curve.in_front]
    for curve in others:
        axes.plot([mark.x for mark in curve.marks], [mark.value for mark in curve.marks], color=OTHERS_GREY, linewidth=0.7, zorder=1)
    front = [curve for curve in plot.curves if curve.in_front]
    for curve in reversed(front):  # the first on top
        _curve(axes, curve, plot, canvas)
    handles, labels = [_handle(curve, canvas) for curve in front], [style.shortened(curve.label) for curve in front]
    for curve, label in zip(front, labels):
        canvas.name_end(axes, curve.marks[-1].x, curve.marks[-1].value, label,
                        canvas.palette.colour(curve.candidate) if curve.candidate else LIMIT_GREY)
    if others:
        handles.append(Line2D([], [], color=OTHERS_GREY, linewidth=0.9))
        labels.append(counted(len(others), "other"))
    _axes(axes, plot)
    more_handles, more_labels = signs.draw(axes, plot, canvas)
    return handles + more_handles, labels + more_labels


def settle(axes, plot, canvas):
    """Places what depends on the final size of the axes: names of ticks and signs."""
    ticks.thin(axes)
    signs.put_all(axes, plot, canvas)


def _curve(axes, curve, plot, canvas):
    marks = curve.marks
    xs, ys = [mark.x for mark in marks], [mark.value for mark in marks]
    if curve.candidate is None:
        axes.plot(xs, ys, color=LIMIT_GREY, linestyle=curve.dashes, linewidth=1.3, zorder=2)
        return
    look = canvas.line(curve.candidate)
    known = [mark for mark in marks if mark.low is not None]
    if known:
        axes.vlines([mark.x for mark in known], [mark.low for mark in known], [mark.high for mark in known],
                    color=DOUBTED_GREY if plot.is_doubted else look["color"], linewidth=2.6, alpha=0.4, zorder=2.5)
    axes.plot(xs, ys, zorder=3, clip_on=False, **look)  # the axes reach all points, but half a marker at their edge would be cut
    for mark in marks:
        canvas.point_out(axes, mark.x, mark.value, f"{curve.label}, {plot.text(mark)}" + (f" ({mark.remark})" if mark.remark else ""))


def _handle(curve, canvas):
    if curve.candidate is None:
        return Line2D([], [], color=LIMIT_GREY, linestyle=curve.dashes, linewidth=1.3)
    return Line2D([], [], **canvas.line(curve.candidate))


def _axes(axes, plot):
    values = sorted({mark.x for curve in plot.curves for mark in curve.marks})
    (ticks.at_sizes if plot.size_axis else ticks.at_numbers)(axes, values, plot.x_label)
    axes.set_ylabel(plot.y_label)
    low, high = plot.limits
    if plot.is_log:
        ticks.log_values(axes, low, high)
    else:
        axes.set_ylim(low, high)
    if plot.level is not None:
        axes.axhline(plot.level, color="#000000", linewidth=0.9, zorder=1.5)


def rows(plot):
    """All curves as rows of COLUMNS."""
    return [(curve.label, mark.x, mark.value, mark.low, mark.high, mark.launches, mark.remark)
            for curve in plot.curves for mark in curve.marks]


def size_words(mark, value):
    return f"{size_text(int(mark.x))}: {value}"
