# SPDX-License-Identifier: Apache-2.0
"""How much the calls of a launch differ, and the launches among each other."""

from matplotlib.lines import Line2D

from . import signs, style, ticks
from .drawing import Drawing
from .palette import DOUBTED_GREY
from .reliability import doubt_text, is_doubted
from .units import counted, ratio_text, size_text

MOST_SHOWN = 4
FARTHEST = 2  # times the highest median, and the lowest over it; longer whiskers are cut and marked
WIDTHS, SHADE = (0.9, 4), 0.45  # lines of calls and of intervals, in points; how strong the latter are
COLUMNS = ("candidate", "bytes", "launch", "median_ns", "low_ns", "high_ns", "p05_ns", "p95_ns")


def drawings(section):
    shown = section.shown(MOST_SHOWN)
    if not any(row[3] > 0 for row in _rows(section, shown)):  # times of 0 have no ratio
        return []
    launches = max(cell.launches for cell in section.cells.values())
    what = f"medians of {counted(launches, 'launch', 'launches')} (markers)" if launches > 1 else "median (marker)"
    made = Drawing("spread", section.shape.slug, "Spread: time over the best median of the size (lower is better)",
                   f"{section.shape.title}, {section.shape.details}",
                   f"Per size and candidate: {what}, 95 % interval of the median (thick; none for too few calls), middle 90 % of the calls (thin; "
                   f"arrow: continues).{doubt_text(section)}", None, COLUMNS, lambda: list(_rows(section, shown)), section.points, section.notes,
                   is_wide=True)
    made.draw = lambda canvas: _draw(section, shown, made, canvas)
    return [made]


def _rows(section, shown):
    for candidate in shown:
        for size, cell in section.line(candidate):
            for number, point in enumerate(cell.points, start=1):
                yield (candidate.name, size, number, point["t_ns"]["p50"], *(point["interval_ns"] or (None, None)), point["t_ns"]["p05"],
                       point["t_ns"]["p95"])


def _draw(section, shown, drawing, canvas):
    made = canvas.figure(3.7, canvas.room_for(len(section.sizes)))
    axes = made.add_subplot()
    of_candidate = {candidate: [_Bar(section, candidate, column, 0.8 * ((place + 0.5) / len(shown) - 0.5)) for column, size in enumerate(section.sizes)
                                if section.cell(candidate, size)] for place, candidate in enumerate(shown)}
    of_candidate = {candidate: found for candidate, found in of_candidate.items() if found}
    bars = [bar for found in of_candidate.values() for bar in found]
    medians = [median for bar in bars for median in bar.medians]
    ticks.log_values(axes, max(min(medians) / FARTHEST, min(bar.low for bar in bars)), min(max(medians) * FARTHEST, max(bar.high for bar in bars)))
    axes.set_xlim(-0.5, len(section.sizes) - 0.5)
    for x in range(len(section.sizes) - 1):
        axes.axvline(x + 0.5, color=style.GRID, linewidth=0.8)
    axes.axhline(1, color="#000000", linewidth=0.8)
    axes.grid(axis="x", visible=False)
    ticks.at_columns(axes, section.sizes)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("time / best median")
    for candidate, found in of_candidate.items():
        _draw_bars(axes, candidate, found, DOUBTED_GREY if is_doubted(section) else canvas.palette.colour(candidate), canvas)
    handles = [Line2D([], [], **canvas.line(candidate) | {"linestyle": "none"}) for candidate in shown]
    labels = [style.shortened(candidate.name) for candidate in shown]
    handles.append(Line2D([], [], color=style.SOFT, linewidth=WIDTHS[0]))
    labels.append("middle 90 % of the calls")
    if any(bar.interval for bar in bars):
        handles.append(Line2D([], [], color=DOUBTED_GREY if is_doubted(section) else style.SOFT, linewidth=WIDTHS[1], alpha=SHADE))
        labels.append("95 % interval of the median")
    arrows = [sign for candidate, found in of_candidate.items() for bar in found
              for sign in signs.arrows(axes, bar.x, bar.low, bar.high, canvas.palette.colour(candidate))]
    if arrows:
        handles.append(Line2D([], [], **canvas.sign(style.UP, style.SOFT)))
        labels.append(signs.CONTINUES)
    canvas.finish(made, drawing.title, drawing.details, drawing.marks, (handles, labels))
    ticks.thin(axes)
    signs.put(axes, arrows, [(bar.x, median) for bar in bars for median in bar.medians], canvas)
    return made


def _draw_bars(axes, candidate, bars, colour, canvas):
    """Draws one candidate at all sizes; `colour` is that of its intervals."""
    look = canvas.line(candidate) | {"linestyle": "none", "markersize": canvas.style.marker * 0.9}
    axes.vlines(*zip(*((bar.x, *bar.calls) for bar in bars)), color=look["color"], linewidth=WIDTHS[0])
    known = [(bar.x, *bar.interval) for bar in bars if bar.interval]
    if known:
        axes.vlines(*zip(*known), color=colour, linewidth=WIDTHS[1], alpha=SHADE)
    axes.plot([bar.x for bar in bars for _ in bar.medians], [median for bar in bars for median in bar.medians], clip_on=False, **look)
    for bar in bars:
        canvas.point_out(axes, bar.x, bar.middle,
                         f"{candidate.name}, {size_text(bar.size)}: {ratio_text(bar.middle)}, calls from {' to '.join(map(ratio_text, bar.calls))}")


class _Bar:
    """A candidate at one size, in times of the best median."""

    def __init__(self, section, candidate, column, offset):
        self.x, self.size = column + offset, section.sizes[column]
        cell, best = section.cell(candidate, self.size), section.cell(section.best(self.size), self.size).p50
        self.middle, self.calls = cell.p50 / best, (max(cell.p05, 1) / best, cell.p95 / best)
        self.medians = [point["t_ns"]["p50"] / best for point in cell.points]
        self.interval = (cell.time.low / best, cell.time.high / best) if cell.time.is_known else None
        every = [self.middle, *self.calls, *self.medians, *(self.interval or ())]
        self.low, self.high = min(every), max(every)
