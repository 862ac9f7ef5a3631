# SPDX-License-Identifier: Apache-2.0
"""Sorts points into sections (one collective of one shape) with one cell per candidate and size."""

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

from tutti import intervals
from tutti.lines import launch_of

from .candidates import Candidate
from .records import is_wrong
from .setups import Setups
from .shapes import Shape, shape_of

PREFERRED = ("nccl", "mpi")  # the library that others are compared with, where there are several: NCCL is on devices only


@dataclass(eq=False)
class Cell:
    """A candidate at one size, over all launches, in nanoseconds."""

    p50: float
    p05: float
    p95: float
    busbw: float
    limit: float      # the least that the machine was seen to allow; 0 where that is not known
    samples: int
    size: int
    points: dict      # {launch: its point}

    @property
    def launches(self):
        return len(self.points)

    @property
    def limit_change(self):
        """How many times the least limit that a launch measured the largest is; 1 where none did."""
        limits = [point["limit_ns"] for point in self.points.values() if point.get("limit_ns")]
        return max(limits, default=1) / min(limits, default=1)

    @cached_property
    def logs(self):
        """{launch: the logarithm of its median}."""
        return {launch: intervals.log_of(point["t_ns"]["p50"], intervals.interval_of(point)) for launch, point in self.points.items()}

    @cached_property
    def time(self):
        """A Ratio: with the interval, which is known by the same rules."""
        return intervals.over_launches(list(self.logs.values()))

    @property
    def beats_limit(self):
        """In every launch, by more than its calls explain: the limit is too high a time."""
        return self.limit > max(point["ci95_p50_ns"][1] for point in self.points.values())

    @property
    def percent_of_limit(self):
        """None where there is no limit: calls with a root overlap where they are timed back to back."""
        return 100 * self.limit / self.p50 if self.limit else None

    @property
    def overlaps(self):
        """Whether the next call began before this one had ended everywhere: then no limit of one call holds."""
        return any(point["key"]["root"] >= 0 and (point.get("calls_of_sample") or 1) > 1 for point in self.points.values())

    def mean_of(self, path):
        """The median over launches of a number that points may have; None where none has it."""
        values = [value for value in (_at(point, path) for point in self.points.values()) if value is not None]
        return statistics.median(values) if values else None


class Section:
    """One shape: its sizes, its candidates, and a Cell for each pair that was measured and right."""

    def __init__(self, shape, points):
        self.shape = shape
        self.points = points
        self.notes = []
        self.disturbed = set()  # (candidate, size)
        measured = defaultdict(dict)  # the last one counts where a launch holds a point twice
        self.wrong = set()
        for point in points:
            place = point["candidate"], point["key"]["bytes"]
            if point.get("skipped"):
                continue
            if is_wrong(point):
                self.wrong.add(place)
            else:
                measured[place][launch_of(point)] = point
        self.cells = {place: _cell(by_launch) for place, by_launch in measured.items() if place not in self.wrong}
        self.sizes = sorted({size for _, size in self.cells})
        self._at = defaultdict(list)  # {size: who was measured there}
        for candidate, size in self.cells:
            self._at[size].append(candidate)
        self._ratios, self._leaders, self._orders = {}, {}, {}
        self.candidates = self._ranked(sorted({candidate for candidate, _ in self.cells}))

    def order(self, size):
        """Who was measured at a size, the best first: by the ratio to the library, which each launch has for itself, as that is what
        is shown; by the median where there is no library, or no launch has both."""
        if size not in self._orders:
            slowness = self._slowness(size)
            self._orders[size] = sorted(self._at[size], key=lambda one: (slowness[one], self.cells[one, size].p50, one))
        return self._orders[size]

    def _slowness(self, size):
        """{candidate: what the order is by}."""
        gains = {one: self.compared(self.library, one, size) for one in self._at[size]} if self.library else {}
        whole = gains and all(gains.values())
        return {one: 1 / gains[one].value if whole else self.cells[one, size].p50 for one in self._at[size]}

    def over_best(self, candidate, size):
        """Its slowness over the best's, so never below 1; the interval is that of their ratio in each launch, with this value in it.
        None where no launch measured both."""
        ratio = self.ratio(candidate, size)
        if ratio is None:
            return None
        slowness = self._slowness(size)
        value = slowness[candidate] / slowness[self.best(size)]
        ends = (min(ratio.low, value), max(ratio.high, value)) if ratio.is_known else (None, None)
        return intervals.Ratio(value, *ends, ratio.launches)

    def _ranked(self, candidates):
        """Fastest first, by the mean distance to the best; whoever misses most sizes comes last."""
        def key(candidate):
            known = [math.log(ratio.value) for ratio in (self.ratio(candidate, size) for size in self.sizes) if ratio]
            return len(known) < len(self.sizes) / 2, sum(known) / max(len(known), 1), candidate
        return sorted(candidates, key=key)

    def cell(self, candidate, size):
        return self.cells.get((candidate, size))

    def line(self, candidate):
        """(size, cell) for the sizes that this candidate was measured at."""
        return [(size, self.cells[candidate, size]) for size in self.sizes if (candidate, size) in self.cells]

    def best(self, size, among=None):
        """The fastest candidate, of all or of some."""
        return next((one for one in self.order(size) if among is None or one in among), None)

    def ratio(self, candidate, size):
        """The Ratio of its time to the best's; None where no launch measured both."""
        return self.compared(candidate, self.best(size), size)

    def log_ratios(self, above, below, size):
        """{launch: time of one candidate over that of another}, of the launches that measured both."""
        one, other = self.cell(above, size), self.cell(below, size)
        if not one or not other:
            return {}
        theirs = other.logs
        return {launch: intervals.log_ratio(mine, theirs[launch]) for launch, mine in one.logs.items() if launch in theirs}

    def compared(self, above, below, size):
        """The Ratio of the times of two candidates; None where no launch measured both."""
        place = above, below, size
        if place not in self._ratios:
            self._ratios[place] = intervals.over_launches(list(self.log_ratios(above, below, size).values()))
        return self._ratios[place]

    def mean_compared(self, above, below):
        """The geometric mean over the sizes that both were measured at, and how many these are."""
        by_launch = defaultdict(list)
        sizes = [size for size in self.sizes if self.log_ratios(above, below, size)]
        for size in sizes:
            for launch, ratio in self.log_ratios(above, below, size).items():
                by_launch[launch].append(ratio)
        whole = [intervals.mean_of(ratios) for ratios in by_launch.values() if len(ratios) == len(sizes)]
        return intervals.over_launches(whole), len(sizes)

    def leaders(self, size):
        """The best, and everyone whom no interval tells from it; without an interval, whose time is near."""
        if size not in self._leaders:
            best = self.best(size)
            ratios = {candidate: self.ratio(candidate, size) for candidate in self._at[size]}
            self._leaders[size] = {best} | {
                candidate for candidate, ratio in ratios.items()
                if (ratio.low <= 1 if ratio and ratio.is_known else
                    intervals.is_near(self.cell(candidate, size).time, self.cell(best, size).time))}
        return self._leaders[size]

    def is_untold(self, candidate, size):
        """Whether nobody knows how far from the best it is: one of the two had too few calls, or no launch measured both."""
        ratio = self.ratio(candidate, size)
        return candidate != self.best(size) and not (ratio and ratio.is_known)

    def untold(self, size):
        """Who is left out of the leaders although no interval tells them from the best: their times are far from it."""
        return {candidate for candidate in self._at[size] if self.is_untold(candidate, size)} - self.leaders(size)

    def limit(self):
        """[(size, least time, bus bandwidth at that)]: the same for all candidates; of several launches the least counts."""
        least = {}
        for (_, size), cell in self.cells.items():
            if cell.limit:
                found = (cell.limit, cell.busbw * cell.p50 / cell.limit)
                least[size] = min(found, least.get(size, found))
        return [(size, *least[size]) for size in sorted(least)]

    def shown(self, most):
        """The candidates worth a line of their own: whoever wins somewhere first, then by rank; and a library of each kind."""
        wins = defaultdict(int)
        for size in self.sizes:
            wins[self.best(size)] += 1
        baselines = self.baselines()
        rivals = [candidate for candidate in self.candidates if candidate not in baselines]
        place = {candidate: number for number, candidate in enumerate(self.candidates)}
        keep = sorted(rivals, key=lambda candidate: (-wins[candidate], place[candidate]))[:most] + baselines
        return [candidate for candidate in self.candidates if candidate in keep]

    def baselines(self):
        """One per library: what a program gets that asks for nothing, else its best variant."""
        return list(self._baselines.values())

    @cached_property
    def _baselines(self):
        """{library: its candidate}. Variants are ordered by their medians, as those that all are compared with come first of all."""
        total = defaultdict(float)
        for (candidate, _), cell in self.cells.items():
            total[candidate] += math.log(cell.p50)
        found = {}
        for candidate in sorted((one for one in total if one.is_baseline), key=lambda one: (not one.is_default, total[one], one)):
            found.setdefault(candidate.impl, candidate)
        return found

    @cached_property
    def library(self):
        """The one that all are compared with, or None."""
        found = sorted(self.baselines(), key=lambda candidate: (
            PREFERRED.index(candidate.impl) if candidate.impl in PREFERRED else len(PREFERRED)))
        return found[0] if found else None

    @property
    def own(self):
        return [candidate for candidate in self.candidates if not candidate.is_baseline]


def sections_of(results, setups=None):
    by_shape = defaultdict(list)
    for point in results.points:
        by_shape[shape_of(point["key"])].append(point)
    setups = setups or Setups(results)
    found = []
    for shape, points in sorted(by_shape.items()):
        found += [_section(part, of_part) for part, of_part in _by_setup(shape, points, setups)]
    return found


def _by_setup(shape, points, setups):
    """What different setups measured stands in sections of its own: see setups.py."""
    launches = list(dict.fromkeys(launch_of(point) for point in points if not point.get("skipped")))
    named = setups.split(launches)
    parts = defaultdict(list)
    for point in points:
        parts[named.get(launch_of(point), next(iter(named.values()), ""))].append(point)
    return [(replace(shape, setup=name), of_part) for name, of_part in sorted(parts.items())]


def _section(shape, points):
    """Candidates are named by what differs: segment sizes that all share are no part of a name."""
    segments = defaultdict(set)
    for point in points:
        segments[point["key"]["algo"]].add(point["key"].get("seg") or 0)
    known = {}
    for point in points:
        key = point["key"]
        one_segment = len(segments[key["algo"]]) == 1
        words = (key["impl"], key["algo"], key["transport"], 0 if one_segment else key.get("seg") or 0,
                 key.get("order") or "", key.get("radix") or 0, key.get("channels") or 1)
        point["candidate"] = known.setdefault(words, Candidate(*words))
    return Section(shape, points)


def _cell(by_launch):
    points = list(by_launch.values())
    middle = _only if len(points) == 1 else statistics.median
    # No call takes no time: a clock may say so, but a ratio or a log axis cannot.
    return Cell(p50=max(middle([point["t_ns"]["p50"] for point in points]), intervals.LEAST_NS),
                p05=middle([point["t_ns"]["p05"] for point in points]),
                p95=middle([point["t_ns"]["p95"] for point in points]),
                busbw=middle([point["busbw_GBps"] for point in points]),
                limit=min((point["limit_ns"] for point in points if point.get("limit_ns")), default=0),
                samples=sum(point["n"] for point in points), size=points[0]["key"]["bytes"], points=by_launch)


def _at(record, path):
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, (int, float)) else None


def _only(values):
    return values[0] if len(values) == 1 else statistics.median(values)


__all__ = ["Candidate", "Cell", "Section", "Shape", "sections_of"]
