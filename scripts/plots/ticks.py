# SPDX-License-Identifier: Apache-2.0
"""Ticks: one at each measured value, with its name where there is room."""

import math

from matplotlib.ticker import LogLocator, NullLocator

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
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 2000 * low else (1,)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.12g}")
    axes.yaxis.set_minor_locator(NullLocator())
