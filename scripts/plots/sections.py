# SPDX-License-Identifier: Apache-2.0
"""Sorts points into sections (one collective on one shape) with one cell per candidate and size."""

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace

from .records import launch_of
from .units import counted, size_words


@dataclass(frozen=True, order=True)
class Candidate:
    """What competes: an algorithm over a transport, or a library's own collective (a baseline)."""

    impl: str
    algo: str
    transport: str
    segment: int = 0
    buf: str = "host"
    placement: str = ""
    order: str = ""
    radix: int = 0  # 0: the default
    channels: int = 1

    @property
    def is_baseline(self):
        return self.impl != "tutti"

    @property
    def is_default(self):
        """A baseline whose algorithm was not forced."""
        return self.is_baseline and self.algo in ("", self.impl)

    @property
    def algorithm(self):
        """What a colour stands for."""
        if not self.is_baseline:
            return self.algo
        return self.impl if self.is_default else f"{self.impl}/{self.algo}"

    @property
    def variant(self):
        """What distinguishes it from others of the same algorithm and transport, the default first."""
        return self.order, self.channels, self.radix, self.segment

    @property
    def label(self):
        extras = [size_words(self.segment) + " segments"] if self.segment else []
        extras += [f"radix {self.radix}"] if self.radix else []
        extras += [f"{self.channels} channels"] if self.channels > 1 else []
        extras += [self.buf] if self.buf != "host" else []
        extras += [self.placement] if self.placement else []
        extras += [f"order by {self.order}"] if self.order else []
        over = f" · {self.transport}" if self.transport not in ("", self.algorithm) else ""
        return self.algorithm + over + (f" ({', '.join(extras)})" if extras else "")


@dataclass(frozen=True)
class Cell:
    """A candidate at one size, over all launches. Nanoseconds; lo..hi is the interval of the median."""

    p50: float
    lo: float
    hi: float
    p05: float
    p95: float
    busbw: float
    limit: float  # the least that the machine allows; 0 where that is not known
    samples: int
    launches: int

    def overlaps(self, other):
        return self.lo <= other.hi and other.lo <= self.hi


@dataclass(frozen=True, order=True)
class Shape:
    """What a section is about."""

    coll: str
    nranks: int
    ppn: int
    dtype: str
    op: str
    root: int
    inplace: bool
    buf: str = ""  # whose memory, where all candidates share it

    @property
    def title(self):
        return f"{self.coll}, {counted(self.nranks, 'rank')}"

    @property
    def details(self):
        parts = [self.dtype if self.op == "none" else f"{self.dtype} {self.op}"]
        parts += [f"root {self.root}"] if self.root >= 0 else []
        parts += [counted(self.ppn, "rank") + " on a host"] if self.ppn else []
        parts += ["in place" if self.inplace else "out of place"]
        return ", ".join(parts + ([f"{self.buf} memory"] if self.buf else []))

    @property
    def slug(self):
        """For anchors and file names, so only letters, digits and dashes."""
        parts = [self.coll, self.nranks, self.ppn, self.dtype, self.op]
        parts += [f"root{self.root}"] if self.root >= 0 else []
        parts += ["in" if self.inplace else "out"]
        return "".join(c if c.isascii() and c.isalnum() else "-" for c in "-".join(map(str, parts)))


class Section:
    """One shape: its sizes, its candidates, and a Cell for each pair that was measured and right."""

    def __init__(self, shape, points):
        self.shape = shape
        self.points = points
        measured = defaultdict(dict)  # the last one counts where a launch holds a point twice
        self.wrong = set()
        for point in points:
            place = candidate_of(point), point["key"]["bytes"]
            if point.get("skipped"):
                continue
            if point["check"]["state"] == "fail":
                self.wrong.add(place)
            else:
                measured[place][launch_of(point)] = point
        self.cells = {place: _cell(list(by_launch.values()))
                      for place, by_launch in measured.items() if place not in self.wrong}
        self.sizes = sorted({size for _, size in self.cells})
        self.candidates = self._ranked({candidate for candidate, _ in self.cells})

    def _ranked(self, candidates):
        """Fastest first, by the mean distance to the best; whoever misses most sizes comes last."""
        def key(candidate):
            ratios = [self.ratio(candidate, size) for size in self.sizes]
            known = [math.log(ratio) for ratio in ratios if ratio is not None]
            return len(known) < len(self.sizes) / 2, sum(known) / len(known), candidate
        return sorted(candidates, key=key)

    def cell(self, candidate, size):
        return self.cells.get((candidate, size))

    def line(self, candidate):
        """(size, cell) for the sizes that this candidate was measured at."""
        return [(size, self.cells[candidate, size]) for size in self.sizes if (candidate, size) in self.cells]

    def best(self, size):
        """The candidate with the least median."""
        return min((candidate for candidate, at in self.cells if at == size),
                   key=lambda candidate: (self.cells[candidate, size].p50, candidate))

    def ratio(self, candidate, size):
        """Time over the best's time, or None where it was not measured."""
        cell = self.cell(candidate, size)
        return cell and cell.p50 / self.cell(self.best(size), size).p50

    def leaders(self, size):
        """The best, and everyone whose interval overlaps the best's: they are tied."""
        best = self.cell(self.best(size), size)
        return {candidate for candidate, at in self.cells
                if at == size and self.cells[candidate, at].overlaps(best)}

    def limits(self):
        """{whose memory: [(size, least time, bus bandwidth at that)]}. All candidates of a size have the same limit
        where they share memory; of several launches the least counts."""
        least = defaultdict(dict)
        for (candidate, size), cell in self.cells.items():
            if not cell.limit:
                continue
            found = (cell.limit, cell.busbw * cell.p50 / cell.limit)
            by_size = least[candidate.buf]
            by_size[size] = min(found, by_size.get(size, found))
        return {buf: [(size, *by_size[size]) for size in sorted(by_size)] for buf, by_size in sorted(least.items())}

    def shown(self, most):
        """The candidates worth a coloured line: whoever wins somewhere first, then by rank."""
        wins = defaultdict(int)
        for size in self.sizes:
            wins[self.best(size)] += 1
        own = [candidate for candidate in self.candidates if not candidate.is_baseline]
        chosen = sorted(own, key=lambda candidate: (-wins[candidate], self.candidates.index(candidate)))
        keep = chosen[:most] + self.baselines()
        return [candidate for candidate in self.candidates if candidate in keep]

    def baselines(self):
        """One per library: what a program gets that asks for nothing, else its best variant."""
        by_library = {}
        for candidate in sorted(self.candidates, key=lambda candidate: not candidate.is_default):
            if candidate.is_baseline:
                by_library.setdefault(candidate.impl, candidate)
        return list(by_library.values())


def candidate_of(point):
    """As its section calls it: see _section."""
    return point["candidate"]


def sections_of(results):
    by_shape = defaultdict(list)
    for point in results.points:
        key = point["key"]
        by_shape[Shape(key["coll"], key["nranks"], key.get("ppn") or 0, key["dtype"], key["op"],
                       key["root"], key["inplace"])].append(point)
    return [_section(shape, points) for shape, points in sorted(by_shape.items())]


def _section(shape, points):
    """Candidates are named by what differs: memory and segment sizes that all share are no part of a name."""
    bufs = {_buf(point) for point in points}
    segments = defaultdict(set)
    for point in points:
        segments[point["key"]["algo"]].add(point["key"].get("seg") or 0)
    for point in points:
        key = point["key"]
        one_segment = len(segments[key["algo"]]) == 1
        point["candidate"] = Candidate(key["impl"], key["algo"], key["transport"],
                                       0 if one_segment else key.get("seg") or 0,
                                       "host" if len(bufs) == 1 else _buf(point), key.get("placement") or "",
                                       key.get("order") or "", key.get("radix") or 0, key.get("channels") or 1)
    return Section(replace(shape, buf=bufs.pop()) if len(bufs) == 1 else shape, points)


def _buf(point):
    return point["key"].get("buf") or "host"


def _cell(points):
    medians = sorted(point["t_ns"]["p50"] for point in points)
    lo, hi = points[0]["ci95_p50_ns"] if len(points) == 1 else launch_interval(medians)
    def middle(values):
        return statistics.median(list(values))
    # No call takes no time: a clock may say so, but a ratio or a log axis cannot.
    return Cell(p50=max(middle(medians), 1), lo=lo, hi=hi,
                p05=middle(point["t_ns"]["p05"] for point in points),
                p95=middle(point["t_ns"]["p95"] for point in points),
                busbw=middle(point["busbw_GBps"] for point in points),
                limit=middle([point["limit_ns"] for point in points if point.get("limit_ns")] or [0]),
                samples=sum(point["n"] for point in points), launches=len(points))


def launch_interval(medians):
    """95 % interval of the median over launches: order statistics; below six launches all there is."""
    n = len(medians)
    if n < 6:
        return medians[0], medians[-1]
    reach = 1.96 * math.sqrt(n)
    lo = max(1, math.floor((n - reach) / 2))
    hi = min(n, math.ceil(1 + (n + reach) / 2))
    return medians[lo - 1], medians[hi - 1]
