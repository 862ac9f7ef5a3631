# SPDX-License-Identifier: Apache-2.0
"""How far each candidate is from the best, at each size."""

import matplotlib
import numpy
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch

from . import boxes, signs, ticks
from .drawing import Drawing
from .reliability import TIED, UNKNOWN
from .units import interval_text, ratio_text, size_text

COLOURS = matplotlib.colormaps["cividis_r"]
SHADE = LogNorm(1, 4, clip=True)  # beyond four times the best it does not matter how bad
MOST_ROWS = 16
KEYS = (1, 1.5, 2, 3, 4)  # values of the legend
COLUMNS = ("candidate", "bytes", "time_ns", "over_best", "low", "high", "tied_with_best")


def drawings(section):
    if len(section.candidates) < 2:
        return []
    rows = _rows_shown(section)
    left = len(section.candidates) - len(rows)
    made = Drawing("heatmap", section.shape.slug, "Time over the best time of the size (1 is best)",
                   f"{section.shape.title}, {section.shape.details}",
                   f"Bright is best, dark is 4 times the best time. {TIED}: statistically tied with the best. {UNKNOWN}: too few calls to compare. "
                   "–: not measured." + (f" {left} slower candidates are left out." if left else ""), None, COLUMNS,
                   lambda: list(_data(section)), section.points, section.notes, is_wide=True)
    made.draw = lambda canvas: _draw(section, rows, made, canvas)
    return [made]


def _rows_shown(section):
    """The fastest candidates, and all libraries."""
    rows = section.candidates[:MOST_ROWS]
    return rows + [candidate for candidate in section.baselines() if candidate not in rows]


def _data(section):
    for candidate in section.candidates:
        for size, cell in section.line(candidate):
            ratio = section.over_best(candidate, size)
            yield (candidate.name, size, cell.p50, *((ratio.value, ratio.low, ratio.high) if ratio else (None,) * 3),
                   cell.is_tied)


def _draw(section, rows, drawing, canvas):
    sizes = section.sizes
    names, higher, width = boxes.rows(canvas, [row.name for row in rows], len(sizes))
    made = canvas.figure(1.4 + 0.26 * higher * len(rows), width)
    if not canvas.style.has_title:
        made.set_figheight(0.6 + 0.16 * higher * len(rows))
    axes = made.add_subplot()
    ratios = numpy.array([[ratio.value if (ratio := section.over_best(row, size)) else numpy.nan for size in sizes] for row in rows])
    axes.set_facecolor("#f1f2f4")
    # A mesh and not an image: an image would be stored as pixels.
    axes.pcolormesh(numpy.arange(len(sizes) + 1) - 0.5, numpy.arange(len(rows) + 1) - 0.5, ratios,
                    cmap=COLOURS, norm=SHADE, edgecolors="white", linewidth=0.6)
    axes.invert_yaxis()
    boxes.frame(axes, sizes, names)
    written = {(x, y): _text(section, row, size) for y, row in enumerate(rows) for x, size in enumerate(sizes)}
    handles, labels = signs.explain([text for text, _ in written.values()], canvas, {TIED: "tied with the best"})
    handles = [Patch(facecolor=COLOURS(SHADE(key))) for key in KEYS] + handles
    labels = ["best", *(f"{key:g}×" for key in KEYS[1:-1]), f"≥ {KEYS[-1]}×"] + labels
    canvas.finish(made, drawing.title, drawing.details, drawing.marks, (handles, labels))
    ticks.thin(axes)
    has_room = boxes.has_room(axes, [" ".join(filter(None, texts)) for texts in written.values()], canvas)
    for (x, y), (sign, number) in written.items():
        _write(axes, x, y, section, rows[y], " ".join(filter(None, (number, sign))) if has_room else sign, canvas)
    return made


def _text(section, row, size):
    """(sign, number) of a box; one of them may be empty."""
    cell, ratio = section.cell(row, size), section.over_best(row, size)
    if ratio is None:
        return "wrong" if (row, size) in section.wrong else UNKNOWN if cell else signs.NOT_MEASURED, ""
    is_best = row == section.best(size)
    return "" if is_best else UNKNOWN if cell.is_unknown else TIED if cell.is_tied else "", ratio_text(ratio.value)


def _write(axes, x, y, section, row, text, canvas):
    size = section.sizes[x]
    ratio, is_best = section.over_best(row, size), section.best(size) == row
    colour = "#b00020" if text == "wrong" else "#5b626b"
    if ratio:
        canvas.point_out(axes, x, y, f"{row.name}, {size_text(size)}: {ratio_text(ratio.value)} {interval_text(ratio)}")
        red, green, blue, _ = COLOURS(SHADE(ratio.value))
        colour = "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
    text = text or "1" * is_best
    if text:
        axes.text(x, y, text, ha="center", va="center", fontsize=canvas.style.small, fontweight="bold" if is_best else "normal", color=colour)
