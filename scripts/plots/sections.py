# SPDX-License-Identifier: Apache-2.0
"""The tables of a summary: one collective of one shape each, with a cell per candidate and size."""

from collections import defaultdict
from dataclasses import dataclass

from tutti.knobs import KNOBS

from .candidates import Candidate
from .records import Ratio, notes_of, ratio_of
from .shapes import shape_of


@dataclass(eq=False)
class Cell:
    """A candidate at one size, over all launches, in nanoseconds."""

    size: int
    p50: float
    p05: float
    p95: float
    time: Ratio
    busbw: float
    over_library: Ratio  # times as fast as the library; None where no launch measured both
    over_best: Ratio     # its time over the best's
    is_tied: bool        # best, or statistically tied with the best
    is_unknown: bool     # too few calls, or no common launch, to compare it with the best
    is_disturbed: bool
    limit: float         # the lower bound of the time; 0 where that is unknown
    percent_of_limit: float
    beats_limit: bool
    overlaps: bool       # the next call began before this one had ended everywhere
    launches: int
    samples: int
    wire_bytes: float
    energy_J: float
    gpu_energy_J: float
    predicted_ns: float
    levels: list         # bytes, messages and time by level; empty if there is only one
    points: list         # the record of each launch


@dataclass(frozen=True)
class Choice:
    """The best choice at one size. `gain`: time of the library over that of the best other candidate; None where there is none."""

    size: int
    winner: Candidate
    gain: Ratio
    tied: tuple    # with the winner, the fastest first
    unknown: int   # how many more had too few calls to compare
    is_significant: bool
    is_unknown: bool
    winner_disturbed: bool
    library_disturbed: bool


class Section:
    """One shape: its sizes, its candidates (fastest first), and a Cell for each pair that was measured and right."""

    def __init__(self, table, results):
        self.shape = shape_of(table["key"], results.names.setup(table["setup"]))
        self.points = [results.points[place] for place in table["points"]]
        self.notes = notes_of(table["notes"])
        self.candidates = [_candidate(one, results.names) for one in table["candidates"]]
        self._means = {candidate: (ratio_of(one.get("mean_over_library")), one.get("sizes_of_mean", 0))
                       for candidate, one in zip(self.candidates, table["candidates"])}
        self.library = None if table["library"] is None else self.candidates[table["library"]]
        self._libraries = [self.candidates[place] for place in table["libraries"]]
        self.sizes = [one["bytes"] for one in table["sizes"]]
        self.cells = {(self.candidates[cell["candidate"]], one["bytes"]): _cell(cell, one["bytes"], results)
                      for one in table["sizes"] for cell in one["cells"]}
        self._order = {one["bytes"]: [self.candidates[place] for place in one["order"]] for one in table["sizes"]}
        self._limits = [(one["bytes"], one["limit_ns"], one["limit_GBps"]) for one in table["sizes"] if one["limit_ns"]]
        self._choices = {one["bytes"]: self._choice(one["bytes"], one["choice"]) for one in table["sizes"]}
        self.wrong = {(_candidate(one["candidate"], results.names), one["bytes"]): one["elements"] for one in table["wrong"]}
        self.skipped = [(_candidate(one["candidate"], results.names), one["reason"], one["sizes"]) for one in table["skipped"]]

    def _choice(self, size, found):
        winner, library = self.candidates[found["winner"]], self.cell(self.library, size)
        return Choice(size, winner, ratio_of(found["gain"]), tuple(self.candidates[place] for place in found["tied"]), found["unknown"],
                      found["significant"], found["too_few_calls"], self.cells[winner, size].is_disturbed,
                      bool(library and library.is_disturbed))

    def choice(self, size):
        return self._choices[size]

    def order(self, size):
        """The candidates that were measured at a size, the fastest first."""
        return self._order[size]

    def best(self, size):
        return self._order[size][0]

    def cell(self, candidate, size):
        return self.cells.get((candidate, size))

    def line(self, candidate):
        """(size, cell) for the sizes that this candidate was measured at."""
        return [(size, self.cells[candidate, size]) for size in self.sizes if (candidate, size) in self.cells]

    def over_best(self, candidate, size):
        cell = self.cell(candidate, size)
        return cell and cell.over_best

    def over_library(self, candidate, size):
        cell = self.cell(candidate, size)
        return cell and cell.over_library

    def mean_over_library(self, candidate):
        """The geometric mean over the sizes that both were measured at, and how many these are."""
        return self._means[candidate]

    def limit(self):
        """[(size, least time, bus bandwidth at that)]."""
        return self._limits

    def shown(self, most):
        """The candidates that get a line of their own: winners first, then by rank; and a library of each kind."""
        wins = defaultdict(int)
        for size in self.sizes:
            wins[self.best(size)] += 1
        rivals = [candidate for candidate in self.candidates if candidate not in self._libraries]
        keep = sorted(rivals, key=lambda candidate: (-wins[candidate], self.candidates.index(candidate)))[:most] + self._libraries
        return [candidate for candidate in self.candidates if candidate in keep]

    def baselines(self):
        """One candidate per library: its default, else its best variant."""
        return self._libraries

    @property
    def own(self):
        return [candidate for candidate in self.candidates if not candidate.is_baseline]


def sections_of(results):
    return sorted((Section(table, results) for table in results.tables), key=lambda section: section.shape)


def _candidate(found, names):
    return Candidate(found["impl"], found["algo"], found["transport"], found["order"], tuple(found[knob["name"]] for knob in KNOBS), names)


def _cell(found, size, results):
    return Cell(size, found["p50_ns"], found["p05_ns"], found["p95_ns"], ratio_of(found["time"]), found["busbw_GBps"],
                ratio_of(found["over_library"]), ratio_of(found["over_best"]), found["tied"], found["unknown"], found["disturbed"],
                found["limit_ns"], found["pct_of_limit"], found["beats_limit"], found["calls_overlap"], found["launches"], found["samples"],
                found["wire_bytes"], found["energy_J"], found["gpu_energy_J"], found["predicted_ns"], found["levels"],
                [results.points[place] for place in found["points"]])
