# SPDX-License-Identifier: Apache-2.0
"""Training steps as bars: computing, hidden and exposed communication, and how well the step's time is known."""

from matplotlib.patches import Patch

from . import steps as values
from . import boxes, signs
from .drawing import Drawing
from .palette import DOUBTED_GREY, RED
from .units import time_text
from .reliability import TIED, UNKNOWN, doubt_text, is_doubted

# Light to dark, so that they differ in grey, too; hatched where communication is hidden.
COMPUTE, HIDDEN, EXPOSED = "#d4dae0", "#8fbfe0", RED
HATCH = "////"
SERIES = ((COMPUTE, "", "computing"), (HIDDEN, HATCH, "computing, communication hidden"), (EXPOSED, "", "exposed communication"))
METHODS_DRAWN = 12
COLUMNS = ("method", "step_ns", "low_ns", "high_ns", "compute_ns", "communication_ns", "hidden_ns", "exposed_ns", "launches",
           "tied")


def drawings(steps):
    methods = steps.methods
    if not methods:
        return []
    shown = methods[:METHODS_DRAWN] + [method for method in methods[METHODS_DRAWN:] if method.is_library]
    left = len(methods) - len(shown)
    made = Drawing("bars", steps.shape.slug, f"{steps.shape.title}: time of a training step (ms, lower is better)", steps.shape.details,
                   f"{values.finding(steps)}. Error bars: 95 % intervals of the step. {TIED}: statistically tied with the shortest. "
                   f"{UNKNOWN}: too few steps to compare." + (f" {left} longer ones are left out." if left else "") + doubt_text(steps), None, COLUMNS,
                   lambda: [(method.label, method.step, method.time.low, method.time.high, method.compute, method.communication, method.hidden,
                             method.exposed, method.launches, method.is_tied) for method in methods],
                   steps.records, steps.notes)
    made.draw = lambda canvas: _draw(shown, is_doubted(steps), made, canvas)
    return [made]


def _draw(methods, doubted, drawing, canvas):
    names, higher = boxes.wrapped(canvas, [method.label for method in methods], canvas.style.width)
    made = canvas.figure(1.75 + 0.27 * higher * len(methods))
    axes = made.add_subplot()
    places = range(len(methods))
    parts = ((COMPUTE, "", [0] * len(methods), [method.compute - method.hidden for method in methods]),
             (HIDDEN, HATCH, [method.compute - method.hidden for method in methods], [method.hidden for method in methods]),
             (EXPOSED, "", [method.compute for method in methods], [max(method.exposed, 0) for method in methods]))
    for colour, hatch, left, width in parts:
        axes.barh(places, [value / 1e6 for value in width], left=[value / 1e6 for value in left], color=colour, hatch=hatch,
                  edgecolor="white", linewidth=0, height=0.7)
    numbers = [_number(method, is_first=not place) for place, method in zip(places, methods)]
    ends = [max(method.compute + max(method.exposed, 0), method.time.high or 0) for method in methods]
    for place, method, end in zip(places, methods, ends):
        known = ""
        if method.time.is_known:
            low, high = method.time.low, method.time.high
            axes.plot([low / 1e6, high / 1e6], [place, place], color=DOUBTED_GREY if doubted else "black", linewidth=1.2, marker="|", markersize=5)
            known = f" [{time_text(low)}, {time_text(high)}]"
        axes.annotate(numbers[place], (end / 1e6, place), xytext=(5, 0),
                      textcoords="offset points", va="center", fontsize=canvas.style.small)
        canvas.point_out(axes, (method.compute + max(method.exposed, 0)) / 2e6, place,
                         f"{method.label}: step {time_text(method.step)}{known}, "
                         f"computing {time_text(method.compute)}, exposed {time_text(max(method.exposed, 0))}")
    axes.set_xlim(0, _reach(made, names, zip(ends, numbers), canvas) / 1e6)
    axes.locator_params(axis="x", nbins=4)  # 0.0125 needs much room
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ms (number: exposed communication)")
    shown = [series for series, (*_, widths) in zip(SERIES, parts) if any(widths)]
    handles, labels = signs.explain(numbers, canvas, {TIED: "tied with the shortest", UNKNOWN: "too few steps"})
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="white") for colour, hatch, _ in shown] + handles
    return canvas.finish(made, drawing.title, drawing.details, drawing.marks, (handles, [label for *_, label in shown] + labels))


def _number(method, is_first):
    sign = f"{UNKNOWN} " if method.is_unknown else f"{TIED} " if method.is_tied and not is_first else ""
    return sign + (time_text(method.exposed) if method.exposed > 0 else "none")


def _reach(made, names, ends, canvas):
    """How far the axis goes, so that the numbers have room at the ends of the bars."""
    letters = max(len(line) for name in names for line in name.split("\n"))
    room = 72 * made.get_figwidth() - boxes.letters_width(letters, canvas.style.settings["font.size"]) - 20
    return max(end / (1 - min((boxes.letters_width(len(number), canvas.style.small) + 8) / room, 0.8)) for end, number in ends)
