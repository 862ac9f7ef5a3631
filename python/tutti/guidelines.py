# SPDX-License-Identifier: Apache-2.0
"""Performance guidelines: what a library could do by its own other calls should not be faster than the call itself.

The rules are those of Träff, Gropp and Thakur ("Self-Consistent MPI Performance Guidelines", IEEE Trans. Parallel Distrib. Syst.
21, 2010) and of Hunold, Carpen-Amarie, Lübbe and Träff (PGMPI, 2016). They need no model of the machine: a library that
violates one gets faster by being called differently. Sizes are those of results files, nccl-tests' (results/statistics/bandwidth.hpp): of
all_gather, reduce_scatter, scatter, gather and all_to_all the P blocks together. So both sides of a rule have the same size."""

import json
from collections import defaultdict
from dataclasses import dataclass

from .columns import value_at
from .lines import ResultsError, launch_of, run_of
from .names import candidate_in_words, short_hash, size_text
from .ratios import Estimate, adjusted_by_holm, of_median, over_launches, ratio, total
from .series import machine_of, variables_of

CONFIDENCE = 0.95
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
ROOTED = ("broadcast", "reduce", "scatter", "gather")
# Bytes of an element, by the names that results files have.
ELEMENT = {"int8": 1, "uint8": 1, "f8e4m3": 1, "f8e5m2": 1, "int16": 2, "uint16": 2, "half": 2, "bfloat16": 2, "int32": 4,
           "uint32": 4, "float": 4, "int64": 8, "uint64": 8, "double": 8}
IN_BLOCKS = ("reduce_scatter", "all_gather", "scatter", "gather", "all_to_all")


@dataclass(frozen=True)
class Guideline:
    """A collective, and other calls that do the same one after another: it should not take longer than these together."""

    left: str
    right: tuple

    @property
    def words(self):
        return f"{self.left} <= {' + '.join(self.right)}"


# A new rule is a line. Both sides have the size of the left one.
GUIDELINES = (
    Guideline("all_reduce", ("reduce_scatter", "all_gather")),
    Guideline("all_reduce", ("reduce", "broadcast")),
    Guideline("reduce_scatter", ("reduce", "scatter")),
    Guideline("reduce_scatter", ("all_reduce",)),             # whose result has the block, too
    Guideline("all_gather", ("gather", "broadcast")),
    Guideline("all_gather", ("all_to_all",)),                 # every rank sends its block to each
    Guideline("broadcast", ("scatter", "all_gather")),
    Guideline("reduce", ("reduce_scatter", "gather")),
    Guideline("reduce", ("all_reduce",)),
    Guideline("gather", ("all_gather",)),
    Guideline("scatter", ("broadcast",)),                     # and each rank keeps its block
)
# Compares every collective at a size and at the next measured size.
MONOTONE = "time(n) <= time(m) for n < m"
SPLIT = "time(k n) <= k time(n)"


@dataclass(frozen=True)
class Setting:
    """All that must be equal where times are compared, besides the call itself."""

    machine: str
    libraries: str
    environment: str
    nranks: int
    ppn: int
    placement: str
    dtype: str
    buf: str
    input: str
    inplace: bool
    start: str

    def words(self):
        """Describes it by the names of its fields; empty ones are left out."""
        said = {"nranks": f"{self.nranks} rank{'s' * (self.nranks != 1)}", "ppn": f"{self.ppn} a host" if self.ppn else "",
                "placement": self.placement, "dtype": self.dtype, "buf": f"{self.buf} memory",
                "input": f"input {self.input}" if self.input else "", "inplace": "in place" if self.inplace else "out of place",
                "start": f"started by {self.start.split()[0]}" if self.start else "", "libraries": self.libraries,
                "machine": f"machine {self.machine}", "environment": f"environment {self.environment}"}
        return {name: words for name, words in said.items() if words}

    @property
    def is_by_barrier(self):
        """Ranks do not leave a barrier at the same time, and who comes late may find a call with a root done."""
        return self.start.startswith("barrier")

    @property
    def is_in_rows(self):
        """Many calls are timed as one, without a barrier in between: then a root may be ahead of the others."""
        return self.start.startswith("b2b")


@dataclass(frozen=True)
class Call:
    """One collective in one setting. `op` is "none" and `root` -1 where there is none, as in records."""

    setting: Setting
    coll: str
    op: str
    root: int

    def sibling(self, coll, root):
        return Call(self.setting, coll, self.op if coll in REDUCING else "none", root if coll in ROOTED else -1)


@dataclass(frozen=True)
class Check:
    """One guideline at one size. The ratio is that of what the call takes to what would do the same."""

    candidate: str
    guideline: str
    words: str
    call: Call
    size: int
    ratio: Estimate
    takes_ns: float
    would_take_ns: float
    launches: int    # number of launches: the fewest of all compared calls
    comparable: bool  # False: of different launches, one each, so it is unknown how much launches differ


@dataclass(frozen=True)
class Judged:
    check: Check
    verdict: str  # violated, kept or undecided
    low: float
    high: float
    p: float  # adjusted for all checks


@dataclass(frozen=True)
class NotChecked:
    candidate: str
    guideline: str
    reason: str
    missing: tuple = ()  # collectives that were not measured, where that is the reason


def judged(checks, tolerance):
    """Violated are those whose ratio is beyond 1 + tolerance by more than chance, of all checks together; the worst first."""
    tested = [number for number, check in enumerate(checks) if check.comparable]
    adjusted = adjusted_by_holm([checks[number].ratio.chance_within(1 + tolerance) for number in tested])
    p_values = dict(zip(tested, adjusted))
    found = []
    for number, check in enumerate(checks):
        low, high = check.ratio.interval(CONFIDENCE)
        p = p_values.get(number, 1.0)
        verdict = "violated" if p <= 1 - CONFIDENCE else "kept" if high <= 1 + tolerance else "undecided"
        found.append(Judged(check, verdict, low, high, p))
    return sorted(found, key=lambda one: -one.check.ratio.log)


def libraries_in(points):
    return sorted({point["key"]["impl"] for point in points} - {"tutti"})


def candidates_in(points):
    """The default candidates: each library, what chooses at run time, and the best of the algorithms."""
    ours = [point for point in points if point["key"]["impl"] == "tutti"]
    choosing = sorted({point["key"]["algo"] for point in ours if _chooses(point)})
    return libraries_in(points) + choosing + (["best"] if any(not _chooses(point) for point in ours) else [])


def names_in(points):
    """All that --candidates may name."""
    ours = (point["key"] for point in points if point["key"]["impl"] == "tutti")
    return sorted({name for key in ours for name in (key["algo"], candidate_in_words(key))} | {"best"})


def times_of(candidate, points, launches):
    """{call: {size: {launch: estimate}}} of a library by its own choice, of "best", or of what is called so in tables."""
    measured = defaultdict(lambda: defaultdict(dict))  # (call, size): {variant: {launch: estimate}}
    records = {launch_of(launch): launch for launch in launches}
    for point in points:
        if not _is_of(candidate, point) or point.get("skipped") or point["check"]["state"] == "fail":
            continue
        key = point["key"]
        call = Call(_setting(point, records.get(launch_of(point), {})), key["coll"], key["op"], key["root"])
        launch = run_of(point) or point["file"], point["launch"]  # the last one counts where it holds a point twice
        measured[call, key["bytes"]][candidate_in_words(key)][launch] = _estimate(point)
    times = defaultdict(dict)
    for (call, size), variants in measured.items():
        # The fastest; one that was in fewer launches may only have been lucky.
        times[call][size] = min(variants.values(), key=lambda by_launch: (-len(by_launch), _middle(by_launch).log))
    return times


def checks_of(candidate, times):
    """([Check], [NotChecked]) of all guidelines."""
    checks, not_checked = [], []
    for guideline in GUIDELINES:
        found = [check for call in times if call.coll == guideline.left
                 for check in _by_others(candidate, guideline, call, times)]
        checks += found
        if not found:
            not_checked.append(_not_checked(candidate, guideline, times))
    for name, rule, reason in ((MONOTONE, _monotone, "each call was measured at one size only"),
                               (SPLIT, _split, "no size is a whole multiple of the one before")):
        found = [check for call in times for check in rule(candidate, call, times[call])]
        checks += found
        if not found:
            not_checked.append(NotChecked(candidate, name, reason if times else "there are no points"))
    return checks, not_checked


def _by_others(candidate, guideline, call, times):
    for root in _roots(guideline, call, times):
        others = [times.get(call.sibling(coll, root)) for coll in guideline.right]
        if not all(others) or _adds_up_too_little(guideline, call):
            continue
        for size, by_launch in sorted(times[call].items()):
            parts = [_of_same_request(call, size, coll, sizes) for coll, sizes in zip(guideline.right, others)]
            if all(parts):
                yield _check(candidate, guideline.words, guideline.words, call, size, by_launch, parts)


def _monotone(candidate, call, sizes):
    for size, larger in _neighbours(sizes):
        words = f"{call.coll}: time({size_text(size)}) <= time({size_text(larger)})"
        yield _check(candidate, MONOTONE, words, call, size, sizes[size], [(1, sizes[larger])])


def _split(candidate, call, sizes):
    for size, larger in _neighbours(sizes):
        if size and larger % size == 0:
            times = larger // size
            words = f"{call.coll}: time({size_text(larger)}) <= {times} time({size_text(size)})"
            yield _check(candidate, SPLIT, words, call, larger, sizes[larger], [(times, sizes[size])])


def _neighbours(sizes):
    ordered = sorted(sizes)
    return zip(ordered, ordered[1:])


def _check(candidate, guideline, words, call, size, takes, parts):
    """`takes` and those of `parts`, [(how many times, it)], are {launch: estimate}."""
    all_of = [takes, *(by_launch for _, by_launch in parts)]
    launches = min(map(len, all_of))
    of_same_launches = all(by_launch.keys() == takes.keys() for by_launch in all_of)
    if of_same_launches:  # effects common to all calls of a launch cancel
        quotient = over_launches([ratio(takes[launch], total([(times, by_launch[launch]) for times, by_launch in parts]))
                                  for launch in takes])
    else:
        quotient = ratio(_middle(takes), total([(times, _middle(by_launch)) for times, by_launch in parts]))
    return Check(candidate, guideline, words, call, size, quotient, _middle(takes).value,
                 total([(times, _middle(by_launch)) for times, by_launch in parts]).value, launches,
                 comparable=of_same_launches or launches > 1)


def _middle(by_launch):
    return over_launches([*by_launch.values()])


def _roots(guideline, call, times):
    """Where the call has no root, any that all others have been measured with."""
    if call.root >= 0 or not set(guideline.right) & set(ROOTED):
        return [call.root]
    roots = [{other.root for other in times if other == call.sibling(coll, other.root)}
             for coll in guideline.right if coll in ROOTED]
    return sorted(set.intersection(*roots))


def _of_same_request(call, size, coll, sizes):
    """(how many times, {launch: estimate}) of the point with the same data; None where there is none.

    Collectives in blocks have their size rounded up to whole elements for each rank, others not: then the sizes that were
    asked for are the same. The time of a slightly shorter vector is scaled up to the call's size."""
    if size in sizes:
        return 1, sizes[size]
    if (call.coll in IN_BLOCKS) == (coll in IN_BLOCKS):
        return None
    unit = call.setting.nranks * ELEMENT.get(call.setting.dtype, 1)
    same = [other for other in sizes if 0 < other and _rounded_up(other, unit) == _rounded_up(size, unit)]
    return (max(1, size / max(same)), sizes[max(same)]) if same else None


def _rounded_up(size, unit):
    return -(-size // unit) * unit


def _adds_up_too_little(guideline, call):
    """In a row of calls those with a root overlap with the next call, which they could not if it needed their result."""
    return call.setting.is_in_rows and len(guideline.right) > 1 and bool(set(guideline.right) & set(ROOTED))


def _not_checked(candidate, guideline, times):
    colls = (guideline.left, *guideline.right)
    missing = tuple(coll for coll in colls if not any(call.coll == coll for call in times))
    reason = f"there are no points of {', '.join(missing)}" if missing else _why_not(guideline, times)
    return NotChecked(candidate, guideline.words, reason, missing)


def _why_not(guideline, times):
    """All collectives were measured, but nothing could be compared."""
    colls = (guideline.left, *guideline.right)
    calls = {coll: [call for call in times if call.coll == coll] for coll in colls}
    if any(_adds_up_too_little(guideline, call) for call in calls[guideline.left]):
        return "times of rows of calls do not add up where there is a root; take --sync barrier or deadline"
    differing = [name for name in Setting.__dataclass_fields__
                 if not set.intersection(*({getattr(call.setting, name) for call in calls[coll]} for coll in colls))]
    if differing:
        return f"their points differ in {', '.join(differing)}"
    return "no size was measured of all of them in the same setting"


def _is_of(candidate, point):
    key = point["key"]
    if key["impl"] != "tutti":
        return key["impl"] == candidate and key["algo"] in ("", key["impl"])  # forced algorithms are not its choice
    if candidate == "best":
        return not _chooses(point)
    return candidate in (key["algo"], candidate_in_words(key))


def _chooses(point):
    return point["key"]["algo"] in ("auto", "learn")


def _estimate(point):
    median = point["t_ns"]["p50"]
    if not all(0 <= time < 1e18 for time in (median, *point["ci95_p50_ns"])):
        raise ResultsError(f"{point['file']}: a point has an invalid time")
    return of_median(max(median, 1), point["interval_ns"])  # no call takes no time, whatever a clock says


def _setting(point, launch):
    key = point["key"]
    if not (0 <= key["bytes"] < 1 << 63 and 1 <= key["nranks"] < 1 << 31):
        raise ResultsError(f"{point['file']}: a point of an impossible size or number of ranks")
    libraries = [f"{value_at(launch, f'{name}.vendor') or name.upper()} {version}" for name in ("mpi", "nccl")
                 if (version := value_at(launch, f"{name}.version"))]
    start = " ".join(filter(None, (point.get("mode"), point.get("def"))))
    return Setting(machine_of(launch), ", ".join(libraries), short_hash(json.dumps(variables_of(launch), sort_keys=True))[:6],
                   key["nranks"], key.get("ppn") or 0, key.get("placement") or "", key["dtype"], key.get("buf") or "host",
                   key.get("input") or "", key["inplace"], start)
