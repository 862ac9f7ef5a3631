# SPDX-License-Identifier: Apache-2.0
"""A figure as a value: what it shows, in words and numbers, and how it is drawn on a canvas."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Drawing:
    kind: str          # a word for --only
    slug: str          # names the subject; kind and slug make the file names
    title: str         # quantity with its unit
    details: str       # placement, memory and type
    caption: str       # how to read it
    draw: Callable     # (canvas) -> a matplotlib Figure
    columns: tuple     # names of the columns of its data
    rows: Callable     # () -> the rows that are drawn
    points: list = field(default_factory=list, repr=False)  # the records it is drawn from
    notes: list = field(default_factory=list)               # cautions: trust.Note
    is_wide: bool = False
    key: str = ""      # explains letters and numbers, below the axes
    plot: object = None  # the curves.Plot of a figure of curves

    @property
    def name(self):
        return f"{self.slug}-{self.kind}"

    @property
    def marks(self):
        return [note.mark for note in self.notes]
