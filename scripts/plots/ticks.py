# SPDX-License-Identifier: Apache-2.0
"""Ticks: one at each measured value, with its name where there is room."""

import math

import matplotlib
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import Locator, MaxNLocator, NullLocator

from .units import size_text

SIZE = "message size (bytes, K = 1024)"
GAP = 0.2  # share of the letters' height, between two names


def at_sizes(axes, sizes, label=SIZE):
    """Marks measured sizes on a logarithmic axis."""
    axes.set_xscale(**scale_of(sizes))
    _mark(axes, sizes, [size_text(size) for size in sizes], label)


def at_numbers(axes, numbers, label):
    """Marks other numbers, such as ranks, on a logarithmic axis."""
    axes.set_xscale("log", base=2)
    _mark(axes, numbers, [f"{number:g}" for number in numbers], label)


def at_columns(axes, sizes, label=SIZE):
    """Marks the columns of a table of boxes."""
    _mark(axes, range(len(sizes)), [size_text(size) for size in sizes], label)


def _mark(axes, places, names, label):
    axes.set_xticks(list(places), names)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(label)


def thin(axes):
    """Removes the names below the axis that have no room. Ticks stay, and so does the last name. The layout must be known."""
    labels = axes.get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    letter = max((label.get_fontsize() for label in labels), default=0) * axes.figure.dpi / 72
    least = max((box.width for box in boxes), default=0) + GAP * letter
    places, names, left = list(axes.get_xticks()), [label.get_text() for label in labels], math.inf
    for number in sorted(range(len(places)), key=lambda number: places[number], reverse=True):
        middle = axes.get_xaxis_transform().transform((places[number], 0))[0]
        if left - middle < least:
            names[number] = ""
        else:
            left = middle
    axes.set_xticks(places, names)


def scale_of(sizes):
    if 0 in sizes:  # stands one step left of the smallest size
        return {"value": "symlog", "base": 2, "linthresh": min(filter(None, sizes), default=1)}
    return {"value": "log", "base": 2}


def log_values(axes, low, high):
    """A logarithmic axis of values from `low` to `high`, with plain numbers and some room at both ends. Values of 0 have no place on it."""
    if low <= 0:
        low, high = (high / 1000, high) if high > 0 else (1, 1)
    room = max((high / low) ** 0.08, 1.05)
    axes.set_yscale("log")
    axes.set_ylim(low / room, high * room)
    axes.yaxis.set_major_locator(_RoundValues())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.12g}")
    axes.yaxis.set_minor_locator(NullLocator())


class _RoundValues(Locator):
    """Places 1, 2 and 5 times powers of ten on a logarithmic axis of values, if their numbers have room; else powers of ten, or some of them.
    A short axis has numbers in equal steps."""

    def __init__(self):
        self.letters = FontProperties(size=matplotlib.rcParams["ytick.labelsize"]).get_size_in_points()

    def __call__(self):
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin, vmax):
        least, highest = math.log10(vmin), math.log10(vmax)
        decade = self.axis.axes.bbox.height * 72 / self.axis.figure.dpi / (highest - least)  # its height in points
        choices = [(math.log10(2) * decade, (1, 2, 5), 1), *((step * decade, (1,), step) for step in (1, 2, 3, 5, 10))]
        found = [[factor * 10.0**power for power in range(math.floor(least), math.ceil(highest)) if power % step == 0 for factor in factors]
                 for distance, factors, step in choices if distance > (1 + GAP / 2) * self.letters]
        steps = max(int(decade * (highest - least) / (2 * self.letters)), 1)  # the upper ones are the narrower ones
        return next((values for values in found if sum(vmin <= value <= vmax for value in values) > 1), MaxNLocator(steps, steps=(1, 2, 5, 10)).tick_values(vmin, vmax))
