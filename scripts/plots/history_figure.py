# SPDX-License-Identifier: Apache-2.0
"""One metric over the launches of a machine, with its change points."""

import math

from . import style
from .palette import BLACK, BLUE, RED
from .units import counted

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
        axes.annotate(f"{100 * (change['after_ns'] / change['before_ns'] - 1):+.1f} %", (change["first"] - 0.5, 1),
                      xycoords=("data", "axes fraction"), xytext=(4, -12), textcoords="offset points", color=RED)
    shown = range(0, len(launches), max(1, math.ceil(len(launches) / 12)))
    axes.set_xticks(list(shown), [f"{launches[i]['t'][:10]}\n{launches[i]['commit'][:9]}" for i in shown], fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("median of a launch" + (f" ({unit})" if unit else ""))
    axes.set_xlabel(f"launches in order of time; machine {history['fingerprint']}: {history['words']}", fontsize=8)
    return canvas.finish(made, f"{history['metric']}: {counted(len(changes), 'change point')} (information, no verdict)", "", [])
