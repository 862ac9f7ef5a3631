# SPDX-License-Identifier: Apache-2.0
"""Tables of boxes: a row for each name, a column for each size."""

import re

from . import style, ticks

MOST_LETTERS = 44     # in a line of a row's name
MOST_OF_WIDTH = 0.38  # share of the figure for the names
USUAL_LETTER = 0.56   # width of a letter, in heights
BREAK = "\u2060"  # followed by a space that is none


def rows(canvas, names, columns):
    """The names in lines, how many times as high the rows are for them, and the width of the figure in inches."""
    shown, _ = style.wrapped(names, MOST_LETTERS)
    width = canvas.room_for(columns, shown)
    return *wrapped(canvas, names, width), width


def wrapped(canvas, names, width):
    """Names in lines that leave room in a figure of this width, and how many times as high the rows are for them."""
    settings = canvas.style.settings
    room = MOST_OF_WIDTH * 72 * width / (USUAL_LETTER * settings.get("ytick.labelsize", settings["font.size"]))
    found, higher = style.wrapped([_breakable(name) for name in names], min(MOST_LETTERS, max(int(room), 8)))
    return [name.replace(f"{BREAK} ", "").replace(BREAK, "") for name in found], higher


def _breakable(name):
    """A name that may also go on in another line after / and +."""
    return re.sub(r"(?<=\S)([/+])(?=\S)", rf"\1{BREAK} ", name)


def letters_width(count, height):
    """An estimate that is rather too large."""
    return 0.62 * height * count


def frame(axes, sizes, names):
    """Names the columns and rows. A table of boxes has no lines around it."""
    ticks.at_columns(axes, sizes)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)


def has_room(axes, texts, canvas, share=0.96):
    """Whether each of these texts fits into this share of a box's width, once the layout is known."""
    (left, _), (right, _) = axes.transData.transform(((0, 0), (1, 0)))
    widest = letters_width(max(map(len, texts), default=0), canvas.style.small) / 72 * axes.figure.dpi
    return widest <= share * (right - left)
