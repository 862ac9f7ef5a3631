# SPDX-License-Identifier: Apache-2.0
"""How far each candidate is from the best, at each size."""

import matplotlib
import numpy
from matplotlib.colors import LogNorm

from . import style
from .drawing import Drawing
from .reliability import TIED, UNKNOWN
from .units import interval_text, ratio_text, size_text

COLOURS = matplotlib.colormaps["cividis_r"]
SHADE = LogNorm(1, 4, clip=True)  # beyond four times the best it does not matter how bad
MOST_ROWS = 16
MOST_NUMBERS = 180  # more boxes than these have room for signs alone
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
    names, higher = style.wrapped([row.name for row in rows], 40)
    made = canvas.figure(1.4 + 0.26 * higher * len(rows), canvas.room_for(len(sizes), names))
    if not canvas.style.has_title:
        made.set_figheight(0.6 + 0.16 * higher * len(rows))
    axes = made.add_subplot()
    ratios = numpy.array([[ratio.value if (ratio := section.over_best(row, size)) else numpy.nan for size in sizes] for row in rows])
    axes.set_facecolor("#f1f2f4")
    # A mesh and not an image: an image would be stored as pixels.
    axes.pcolormesh(numpy.arange(len(sizes) + 1) - 0.5, numpy.arange(len(rows) + 1) - 0.5, ratios,
                    cmap=COLOURS, norm=SHADE, edgecolors="white", linewidth=0.6)
    axes.invert_yaxis()
    for y, row in enumerate(rows):
        for x, size in enumerate(sizes):
            _write(axes, x, y, section, row, size, canvas)
    axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes])
    axes.set_yticks(range(len(rows)), names)
    plain(axes)
    axes.set_xlabel("message size (bytes, K = 1024)")
    return canvas.finish(made, drawing.title, drawing.details, drawing.marks)


def plain(axes):
    """A table of boxes needs no frame."""
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)


def _sign(section, row, size):
    cell = section.cell(row, size)
    if row == section.best(size):
        return ""
    return UNKNOWN if cell.is_unknown else TIED if cell.is_tied else ""


def _write(axes, x, y, section, row, size, canvas):
    ratio = section.over_best(row, size)
    fontsize = canvas.style.small
    if ratio is None:
        wrong = (row, size) in section.wrong
        axes.text(x, y, "wrong" if wrong else UNKNOWN if section.cell(row, size) else "–", ha="center", va="center", fontsize=fontsize, color="#b00020" if wrong else "#5b626b")
        return
    canvas.point_out(axes, x, y, f"{row.name}, {size_text(size)}: {ratio_text(ratio.value)} {interval_text(ratio)}")
    best = section.best(size) == row
    mark = _sign(section, row, size)
    many = len(section.sizes) * min(len(section.candidates), MOST_ROWS) > MOST_NUMBERS
    text = (mark or "1" * best) if many else f"{ratio_text(ratio.value)} {mark}".strip()
    if not text:
        return
    red, green, blue, _ = COLOURS(SHADE(ratio.value))
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
    axes.text(x, y, text, ha="center", va="center", fontsize=fontsize, fontweight="bold" if best else "normal",
              color="#111111" if light else "white")
