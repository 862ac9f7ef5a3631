# SPDX-License-Identifier: Apache-2.0
"""Who is how far from the best, at each size."""

import matplotlib
import numpy
from matplotlib.colors import LogNorm

from . import style
from .units import ratio_text, size_text

COLOURS = matplotlib.colormaps["cividis_r"]
SHADE = LogNorm(1, 4, clip=True)  # beyond four times the best it does not matter how bad


def heatmap(section, _look):
    """Rows are candidates, best first; a cell is its time over the best time at that size."""
    rows, sizes = section.candidates, section.sizes
    made = style.figure(12.6, 1.3 + 0.27 * len(rows))
    axes = made.add_subplot()
    ratios = numpy.array([[section.ratio(row, size) or numpy.nan for size in sizes] for row in rows])
    axes.set_facecolor("#f1f2f4")
    # A mesh and not an image: an image would be stored as pixels.
    axes.pcolormesh(numpy.arange(len(sizes) + 1) - 0.5, numpy.arange(len(rows) + 1) - 0.5, ratios,
                    cmap=COLOURS, norm=SHADE, edgecolors="white", linewidth=0.6)
    axes.invert_yaxis()
    for y, row in enumerate(rows):
        for x, size in enumerate(sizes):
            _write(axes, x, y, section, row, size)
    axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes])
    axes.set_yticks(range(len(rows)), [f"[{row.label}]" if row.is_baseline else row.label for row in rows])
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xlabel("message size (bytes, K = 1024)")
    style.title(axes, f"{section.shape.title}: time over the best time at that size "
                      "(★ best, ≈ not separable from it, [ ] library)")
    return made


def _write(axes, x, y, section, row, size):
    ratio = section.ratio(row, size)
    if ratio is None:
        wrong = (row, size) in section.wrong
        axes.text(x, y, "wrong" if wrong else "–", ha="center", va="center", fontsize=8.5,
                  color="#b00020" if wrong else "#9aa0a6")
        return
    best = section.best(size) == row
    mark = "★" if best else "≈" if row in section.leaders(size) else ""
    narrow = len(section.sizes) > 14
    text = mark if narrow and best else ratio_text(ratio) + ("" if narrow else " ") + mark
    red, green, blue, _ = COLOURS(SHADE(ratio))
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
    axes.text(x, y, text.strip(), ha="center", va="center", fontsize=7.5 if narrow else 8.5,
              fontweight="bold" if best else "normal", color="#111111" if light else "white")
