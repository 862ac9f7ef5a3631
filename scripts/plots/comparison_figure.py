# SPDX-License-Identifier: Apache-2.0
"""Draws what `tutti compare` found, for programs or calls: for each metric a bar of the change from A to B, with its interval."""

from matplotlib.patches import Patch

from . import boxes, provenance
from .drawing import Drawing
from .palette import BLUE, RED
from .shapes import slug_of
from .style import INK
from .units import time_text

COLOURS = {"slower": RED, "faster": BLUE, "same": "#8a9099", "undecided": "#d4dae0"}
MOST_ROWS = 24
COLUMNS = ("metric", "a", "b", "unit", "ratio", "low", "high", "confidence", "launches", "verdict")


def drawings(results):
    """One figure for each comparison in the files."""
    comparisons = {}
    for verdict in results.verdicts:
        comparisons.setdefault(verdict.get("session", ""), {})[verdict["metric"]] = verdict
    return [_drawing(results, session, list(verdicts.values())) for session, verdicts in comparisons.items()]


def _drawing(results, session, verdicts):
    shown = sorted(sorted(verdicts, key=lambda one: -abs(one["ratio"] - 1))[:MOST_ROWS], key=verdicts.index)
    left = len(verdicts) - len(shown)
    sessions = [one for one in results.sessions if one["id"] == session]
    made = Drawing("comparison", slug_of(verdicts[0]["metric"]), "Change from A to B (%)", ", ".join(map(provenance.command, sessions)),
                   f"Bars: B / A - 1. Lines: {100 * verdicts[0]['confidence']:g} % intervals; none for too few launches."
                   + (f" {left} smaller changes are left out." if left else ""), None, COLUMNS,
                   lambda: [(one["metric"], one.get("a_ns"), one.get("b_ns"), one.get("unit", "ns"), one["ratio"], one.get("low"), one.get("high"),
                             one["confidence"], one["n_launch"], one["verdict"]) for one in verdicts],
                   [{"file": one["file"], "session": session, "launch": 1} for one in sessions])
    made.draw = lambda canvas: _draw(shown, made, canvas)
    return made


def _draw(verdicts, drawing, canvas):
    names, _ = boxes.wrapped(canvas, [one["metric"] for one in verdicts], canvas.style.width)
    names = [f"{name}\n{_values(one)}" if _values(one) else name for name, one in zip(names, verdicts)]
    lines = sum(name.count("\n") + 1 for name in names)
    made = canvas.figure(1.2 + 0.21 * lines)
    axes = made.add_subplot()
    # Rows are as high as their names.
    heights = [name.count("\n") + 1 for name in names]
    places = [sum(heights[:row]) + height / 2 for row, height in enumerate(heights)]
    for place, height, one in zip(places, heights, verdicts):
        change = _percent(one["ratio"])
        axes.barh(place, change, height=min(0.7 * height, 1.4), color=COLOURS[one["verdict"]])
        if one.get("high"):
            axes.plot([_percent(one["low"]), _percent(one["high"])], [place, place], color=INK, linewidth=1.2, marker="|", markersize=5)
        canvas.point_out(axes, change / 2, place, f"{one['metric']}: {change:+.1f} %, {one['verdict']}")
    axes.axvline(0, color="#000000", linewidth=0.8)
    axes.margins(x=0.08)
    axes.set_yticks(places, names)
    axes.set_ylim(sum(heights), 0)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("change from A to B (%)")
    found = [verdict for verdict in COLOURS if any(one["verdict"] == verdict for one in verdicts)]
    return canvas.finish(made, drawing.title, drawing.details, drawing.marks, ([Patch(facecolor=COLOURS[verdict]) for verdict in found], found))


def _percent(ratio):
    return 100 * (ratio - 1)


def _values(verdict):
    """12.0 ms → 12.4 ms; "" for a mean of all metrics."""
    a, b, unit = verdict.get("a_ns"), verdict.get("b_ns"), verdict.get("unit", "ns")
    if not b:
        return ""
    return f"{time_text(a)} → {time_text(b)}" if unit == "ns" else f"{a:.3g} → {b:.3g} {unit}"
