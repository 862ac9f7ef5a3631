# SPDX-License-Identifier: Apache-2.0
"""Boxes, lines and texts in pixels from the upper left corner, as a matplotlib figure of that size."""

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path

from .style import INK

DPI = 96
LETTER = 6.3  # the mean width of a letter of 11 pixels


class Picture:
    def __init__(self):
        self._drawn = []  # functions of the axes, in the order of drawing

    def box(self, x, y, width, height, fill, edge, rounding=4, alpha=None, dashes="-", zorder=3):
        self._drawn.append(lambda axes: axes.add_patch(FancyBboxPatch(
            (x + rounding, y + rounding), max(width - 2 * rounding, 0.1), max(height - 2 * rounding, 0.1), boxstyle=f"round,pad={rounding}",
            facecolor=fill, edgecolor=edge, alpha=alpha, linewidth=0.8, linestyle=dashes, zorder=zorder)))

    def line(self, start, end, colour, width=1.0, zorder=2):
        self._drawn.append(lambda axes: axes.plot(*zip(start, end), color=colour, linewidth=0.75 * width, solid_capstyle="butt", zorder=zorder))

    def arrow(self, start, end, colour, width=1.5):
        """A line with its head at `end`."""
        self._drawn.append(lambda axes: axes.add_patch(FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=8, shrinkA=0, shrinkB=0, color=colour, linewidth=0.75 * width, zorder=2)))

    def arc(self, start, end, depth, colour, width):
        """A curve that sags by `depth` below its ends."""
        points = [start, (start[0], start[1] + depth * 4 / 3), (end[0], end[1] + depth * 4 / 3), end]
        path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        self._drawn.append(lambda axes: axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=0.75 * width, zorder=2)))

    def text(self, x, y, words, size=11, align="left", colour=INK, bold=False, italic=False, room=0, ground=None, zorder=5):
        """`room`: the width in pixels that the words are cut to; 0: all of them. `ground`: the background colour."""
        words = cut(words, room, size)
        ground = {"facecolor": ground, "edgecolor": "none", "pad": 1} if ground else None
        self._drawn.append(lambda axes: axes.text(x, y, words, fontsize=0.75 * size, ha=align, va="baseline", color=colour, zorder=zorder,
                                                  fontweight="bold" if bold else "normal", fontstyle="italic" if italic else "normal", bbox=ground))

    def figure(self, width, height):
        made = Figure(figsize=(width / DPI, height / DPI))
        axes = made.add_axes((0, 0, 1, 1))
        for draw in self._drawn:
            draw(axes)
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        return made


def cut(words, room, size=11):
    most = int(room / (LETTER * size / 11))
    return words if room <= 0 or len(words) <= most else words[:max(most - 1, 1)] + "…"


def fits(words, room):
    return len(words) * LETTER <= room
