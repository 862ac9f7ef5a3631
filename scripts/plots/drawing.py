# SPDX-License-Identifier: Apache-2.0
"""A figure as a value: what it shows, in words and numbers, and how it is drawn on a canvas."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Drawing:
    kind: str          # a word, as --only takes it
    slug: str          # of what it is about; with the kind the name of its files
    title: str         # what is drawn, with its unit
    details: str       # of what: placement, memory, type
    caption: str       # how to read it
    draw: Callable     # (canvas) -> a matplotlib Figure
    columns: tuple     # of its data
    rows: Callable     # () -> the rows that are drawn
    points: list = field(default_factory=list, repr=False)  # the records it is drawn from
    notes: list = field(default_factory=list)               # what must be known before believing it: trust.Note
    is_wide: bool = False

    @property
    def name(self):
        return f"{self.slug}-{self.kind}"

    @property
    def marks(self):
        return [note.mark for note in self.notes]
