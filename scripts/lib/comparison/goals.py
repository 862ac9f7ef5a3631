# SPDX-License-Identifier: Apache-2.0
"""The goals of the comparison, and whether they are met."""

import math
from dataclasses import dataclass

from plots.units import size_words

from .plan import COLLECTIVES, INPUTS, KIB, MIB, SIZES
from .summary import geometric_mean, undisturbed

OTHERS = COLLECTIVES[1:]


@dataclass(frozen=True)
class Goal:
    """A lower bound for one figure of each row, or for the geometric mean of a launch's ratios."""

    collectives: tuple
    ranks: int
    buffers: str
    bound: float
    field: str = "ratio_to_best"
    mean: bool = False  # the mean over the sizes of a collective instead of each size
    sizes: tuple = SIZES
    inputs: tuple = INPUTS

    @property
    def text(self):
        who = self.collectives[0] if len(self.collectives) == 1 else f"the other {len(self.collectives)}"
        what = "share of the limit" if self.field == "pct_of_limit" else "ratio"
        where = "geometric mean" + (" of each" if len(self.collectives) > 1 else "") if self.mean else \
            "each size" if self.sizes == SIZES else f"{size_words(self.sizes[0])} to {size_words(self.sizes[-1])}"
        return f"{who}, {self.ranks} ranks, {self.buffers}, {where}: {what} >= {self._number(self.bound)}"

    def evaluate(self, rows, state=INPUTS[0]):
        """Returns (figure, met) as texts: the lowest figure and its place; missing sizes or settings leave the goal open."""
        if state not in self.inputs:
            return "–", "–"
        mine = [row for row in undisturbed(rows) if row["coll"] in self.collectives and row["nranks"] == self.ranks
                and (row["input"], row["buffers"]) == (state, self.buffers) and row["bytes"] in self.sizes
                and row.get(self.field)]
        missing = len(self.collectives) * len(self.sizes) - sum("missing" not in row for row in mine)
        if not mine:
            return "–", "not measured"
        least, where = min(self._means(mine) if self.mean else self._each(mine), key=lambda found: found[0])
        figure = self._number(least) + (f" ({where})" if where else "")
        if least < self.bound:
            return figure, "no"
        return figure, f"open: {missing} missing or disturbed" if missing else "yes"

    def _each(self, rows):
        several = len(self.collectives) > 1
        return [(row[self.field], (f"{row['coll']}, " if several else "") + size_words(row["bytes"])) for row in rows]

    def _means(self, rows):
        of_collective = {}
        for row in rows:
            of_collective.setdefault(row["coll"], []).append(row[self.field])
        return [(geometric_mean(figures), coll if len(self.collectives) > 1 else "")
                for coll, figures in of_collective.items()]

    def _number(self, number):
        return f"{math.floor(number + 1e-9)} %" if self.field == "pct_of_limit" else ratio_text(number)


def ratio_text(ratio):
    """Rounds down, so that a figure below its goal does not appear to meet it."""
    return f"{math.floor(ratio * 100 + 1e-9) / 100:.2f}"


def from_size(size):
    return tuple(other for other in SIZES if other >= size)


ALL_REDUCE = ("all_reduce",)
GOALS = (
    Goal(ALL_REDUCE, 2, "registered", 1.8, sizes=(8, 64, 512)),
    Goal(ALL_REDUCE, 2, "registered", 2.5, sizes=from_size(4 * KIB)),
    Goal(ALL_REDUCE, 2, "registered", 3.5, mean=True),
    Goal(ALL_REDUCE, 2, "unregistered", 1.15),
    Goal(ALL_REDUCE, 2, "unregistered", 1.8, mean=True),
    Goal(OTHERS, 2, "registered", 1.0),
    Goal(OTHERS, 2, "registered", 1.8, mean=True),
    Goal(OTHERS, 2, "unregistered", 1.0),
    Goal(OTHERS, 2, "unregistered", 1.5, mean=True),
    *(goal for ranks in (4, 8) for buffers, mean in (("registered", 1.3), ("unregistered", 1.5))
      for goal in (Goal(ALL_REDUCE, ranks, buffers, 1.0), Goal(ALL_REDUCE, ranks, buffers, mean, mean=True))),
    *(Goal(ALL_REDUCE, 2, "registered", bound, field="pct_of_limit", sizes=from_size(size), inputs=INPUTS[:1])
      for bound, size in ((70, 32 * KIB), (80, 8 * MIB))),
)


def evaluated(rows):
    """Returns (goal, figure, met, figure, met) for each goal and input."""
    return [(goal.text, *(cell for state in INPUTS for cell in goal.evaluate(rows, state))) for goal in GOALS]
