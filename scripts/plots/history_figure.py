# SPDX-License-Identifier: Apache-2.0
"""One metric over the launches of a machine, with its change points."""

import math
import textwrap

from . import style
from .palette import BLACK, BLUE, RED
from .units import counted

LETTERS = 150  # in a line below the axis
ROOM = 1.25    # above the slowest launch, for the changes
UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))


def draw(history):
    """The figure of what `tutti history --json` hands out."""
    launches, changes, levels = history["launches"], history["changes"], history["levels"]
    units = UNITS if history["unit"] == "ns" else ((history["unit"], 1),)
    unit, factor = next((unit, factor) for unit, factor in units if factor == 1 or max(one["ns"] for one in launches) >= factor)
    canvas = style.Canvas(None)
    made = canvas.figure(3.8, style.SCREEN.wide)
    axes = made.subplots()
    axes.plot(range(len(launches)), [one["ns"] / factor for one in launches], "o", color=BLUE, markersize=4)
    ends = [level["first"] for level in levels[1:]] + [len(launches)]
    for level, end in zip(levels, ends):
        axes.hlines(level["ns"] / factor, level["first"] - 0.4, end - 0.6, color=BLACK, linewidth=1.6)
    for change in changes:
        axes.axvline(change["first"] - 0.5, color=RED, linestyle="--", linewidth=1.2)
    shown = range(0, len(launches), max(1, math.ceil(len(launches) / 12)))
    axes.set_xticks(list(shown), [f"{launches[i]['t'][:10]}\n{launches[i]['commit'][:9]}" for i in shown], fontsize=7)
    axes.set_ylim(0, max(ROOM * max(one["ns"] for one in launches) / factor, 0) or None)
    axes.set_ylabel("median of a launch" + (f" ({unit})" if unit else ""))
    axes.set_xlabel(textwrap.fill(f"launches in order of time; machine {history['fingerprint']}: {history['words']}", LETTERS), fontsize=8)
    canvas.finish(made, f"{history['metric']}: {counted(len(changes), 'change point')} (information, no verdict)", "", [])
    _name_changes(axes, changes)
    return made


def _name_changes(axes, changes):
    """Writes each change next to its line, in the first row that is free, once the layout is known."""
    ends = []  # ends of the rows
    for change in changes:
        text = axes.annotate(f"{100 * (change['after_ns'] / change['before_ns'] - 1):+.1f} %", (change["first"] - 0.5, 1),
                             xycoords=("data", "axes fraction"), xytext=(4, -4), textcoords="offset points", va="top", color=RED)
        if text.get_window_extent().x1 > axes.bbox.x1:
            text.set(ha="right", position=(-4, -4))
        box = text.get_window_extent()
        row = next((row for row, end in enumerate(ends) if end < box.x0), len(ends))
        ends[row:row + 1] = [box.x1]
        text.set_y(-4 - row * 1.3 * text.get_fontsize())
