# SPDX-License-Identifier: Apache-2.0
"""How much the calls of a launch differ, and the launches among each other."""

from matplotlib.lines import Line2D

from . import style
from .drawing import Drawing
from .palette import DOUBTED_GREY
from .reliability import doubt_text, is_doubted
from .units import counted, ratio_text, size_text

MOST_SHOWN = 4
HIGHEST = 2.5  # times the best; larger values are cut and marked
COLUMNS = ("candidate", "bytes", "launch", "median_ns", "low_ns", "high_ns", "p05_ns", "p95_ns")


def drawings(section):
    if not section.sizes:
        return []
    shown = section.shown(MOST_SHOWN)
    launches = max(cell.launches for cell in section.cells.values())
    what = f"medians of {counted(launches, 'launch', 'launches')} (markers)" if launches > 1 else "median (marker)"
    made = Drawing("spread", section.shape.slug, "Spread: time over the best median of the size (lower is better)",
                   f"{section.shape.title}, {section.shape.details}",
                   f"Per size and candidate: {what}, 95 % interval of the median (thick; none for too few calls), middle 90 % of the calls (thin)"
                   f"; ↑ continues beyond {HIGHEST:g}.{doubt_text(section)}", None, COLUMNS, lambda: list(_rows(section, shown)), section.points, section.notes,
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
    reached = 1.0
    for place, candidate in enumerate(shown):
        offset = 0.8 * ((place + 0.5) / len(shown) - 0.5)
        reached = max(reached, _candidate(axes, section, canvas, candidate, offset))
    axes.set_ylim(0, min(HIGHEST, reached * 1.04))
    axes.set_xlim(-0.5, len(section.sizes) - 0.5)
    for x in range(len(section.sizes) - 1):
        axes.axvline(x + 0.5, color=style.GRID, linewidth=0.8)
    axes.axhline(1, color="#000000", linewidth=0.8)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(section.sizes)), [size_text(size) for size in section.sizes])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("message size (bytes, K = 1024)")
    axes.set_ylabel("time / best median")
    handles = [Line2D([], [], **canvas.line(candidate) | {"linestyle": "none"}) for candidate in shown]
    return canvas.finish(made, drawing.title, drawing.details, drawing.marks,
                         (handles, [style.shortened(candidate.name) for candidate in shown]))


def _candidate(axes, section, canvas, candidate, offset):
    """Draws one candidate at all sizes; returns how far up it reaches."""
    look = canvas.line(candidate) | {"linestyle": "none"}
    reached, xs, ys, beyond, thin, thick = 1.0, [], [], [], [], []
    for x, size in enumerate(section.sizes):
        cell = section.cell(candidate, size)
        if cell is None:
            continue
        best = section.cell(section.best(size), size).p50
        thin.append((x + offset, cell.p05 / best, min(cell.p95 / best, HIGHEST)))
        if cell.time.is_known:
            thick.append((x + offset, cell.time.low / best, min(cell.time.high / best, HIGHEST)))
        if cell.p95 / best > HIGHEST:
            beyond.append(x + offset)
        for point in cell.points:
            ratio = point["t_ns"]["p50"] / best
            if ratio <= HIGHEST:
                xs.append(x + offset)
                ys.append(ratio)
        canvas.point_out(axes, x + offset, min(cell.p50 / best, HIGHEST),
                         f"{candidate.name}, {size_text(size)}: {ratio_text(cell.p50 / best)}, calls from "
                         f"{ratio_text(cell.p05 / best)} to {ratio_text(cell.p95 / best)}")
        reached = max(reached, cell.p95 / best)
    colour = look["color"]
    for lines, width, alpha, hue in ((thin, 0.9, 1, colour), (thick, 4, 0.45, DOUBTED_GREY if is_doubted(section) else colour)):
        axes.vlines(*zip(*[line for line in lines if line[1] <= line[2]] or [(0, 0, 0)]), color=hue, linewidth=width, alpha=alpha)
    if beyond:
        axes.plot(beyond, [HIGHEST] * len(beyond), clip_on=False, **canvas.sign(style.UP, colour))
    axes.plot(xs, ys, **look | {"markersize": canvas.style.marker * 0.9})
    return reached
