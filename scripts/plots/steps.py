# SPDX-License-Identifier: Apache-2.0
"""Training steps: what of them is computing, what is communication hidden behind it, and what is not hidden."""

import statistics
from collections import defaultdict
from dataclasses import dataclass, field, replace

from tutti import intervals
from tutti.lines import launch_of

from .shapes import slug_of
from .units import counted, interval_text, ratio_text, time_text

WORKLOADS = ("ddp", "zero", "tensor-parallel", "pipeline", "moe", "train", "parameter-server", "federated", "replay")


@dataclass(frozen=True)
class Shape:
    """Steps of one shape can be compared: all but the method of communicating is the same."""

    workload: str
    model: str
    compute: str
    settings: str
    buffers: str
    nranks: int
    ppn: int
    placement: str = ""
    setup: str = ""

    @property
    def title(self):
        return f"{self.workload}: {self.model}"

    @property
    def details(self):
        words = [counted(self.nranks, "rank")]
        if self.ppn and self.ppn != self.nranks:
            words.append(f"{self.ppn} on a host")
        if self.buffers:
            words.append(f"{self.buffers} buffers")
        if self.compute:
            words.append(f"compute: {self.compute}")
        return ", ".join(words + [word for word in (self.settings, self.placement, self.setup) if word])

    @property
    def slug(self):
        parts = (self.workload, self.model, self.compute, self.nranks, self.ppn, self.buffers, self.placement, self.settings,
                 self.setup.split(":")[0])
        return "step-" + slug_of("-".join(str(part) for part in parts if part))


@dataclass
class Method:
    """Medians over the launches, in ns."""

    name: str
    step: float
    time: object   # a Ratio: that of a step with its interval
    compute: float
    communication: float
    exposed: float
    records: dict  # {launch: record}

    @property
    def is_library(self):
        return is_library(self.name)

    @property
    def label(self):
        return f"[{self.name}]" if self.is_library else self.name

    @property
    def hidden(self):
        return min(max(self.communication - max(self.exposed, 0), 0), self.compute)

    def over(self, other):
        """The Ratio of the times of a step; None where no launch has both."""
        shared = [launch for launch in self.records if launch in other.records]
        return intervals.over_launches([intervals.log_ratio(_log(self.records[launch]), _log(other.records[launch]))
                                        for launch in shared])


@dataclass(eq=False)
class Steps:
    shape: Shape
    records: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def methods(self):
        """Measured ones with right results, the shortest step first."""
        by_name = defaultdict(dict)
        for record in self.records:
            if not record.get("skipped") and record["check"]["state"] != "fail":
                by_name[record["key"]["way"]][launch_of(record)] = record
        return sorted((_method(name, found) for name, found in by_name.items()), key=lambda method: (method.step, method.name))

    def tied(self):
        """{name: whether the interval is known} of those that no interval tells from the shortest, itself left out."""
        first, *others = self.methods() or [None]
        ratios = {method.name: method.over(first) for method in others}
        return {name: ratio is not None and ratio.is_known for name, ratio in ratios.items() if ratio is None or not ratio.is_significant}


def _method(name, records):
    found = list(records.values())

    def middle(part):
        return statistics.median(record[f"{part}_ns"]["p50"] for record in found)
    return Method(name, middle("step"), time_of(found), middle("compute"), middle("communication"), middle("exposed"), records)


def is_library(method):
    """A library's own collectives, also where a workload says what they do: all-reduce mpi."""
    return method.split("+")[0].split("/")[0].split(" ")[-1] in ("mpi", "mpi-nonblocking", "nccl")


def steps_of(results, setups):
    """Of each shape, in the order of the files, but workload by workload."""
    found = {}
    for record in results.steps:
        key = record["key"]
        buffers = key.get("buffers") or ""
        shape = Shape(key["workload"], key["model"], key.get("compute") or "", key.get("settings") or "",
                      "unregistered" if buffers == "ordinary" else buffers,  # its name in version 0.1
                      key["nranks"], key.get("ppn") or 0, key.get("placement") or "")
        found.setdefault(shape, []).append(record)
    known = {name: place for place, name in enumerate(WORKLOADS)}
    all_steps = [part for shape, records in found.items() for part in _by_setup(shape, records, setups)]
    return sorted(all_steps, key=lambda one: (known.get(one.shape.workload, len(known)), one.shape.workload))


def _by_setup(shape, records, setups):
    named = setups.split(list(dict.fromkeys(launch_of(record) for record in records)))
    parts = {}
    for record in records:
        setup = named[launch_of(record)]
        parts.setdefault(setup, Steps(replace(shape, setup=setup))).records.append(record)
    return parts.values()


def finding(steps):
    """In one clause: the shortest step, who is tied with it, and the library."""
    methods = steps.methods()
    if not methods:
        return "nothing was measured"
    best, tied = methods[0], steps.tied()
    exposed = f"{time_text(best.exposed)} of it" if best.exposed > 0 else "nothing of it"
    said = f"{best.name}: step of {time_text(best.step)}, {exposed} exposed"
    library = next((method for method in methods if method.is_library and method is not best), None)
    if library:
        ratio = library.over(best)
        said += f"; {library.label} " + ("at best is not told apart" if library.name in tied else
                                                 f"at best takes {ratio_text(ratio.value)}× {interval_text(ratio)}")
    return said


def time_of(records):
    """That of a step, of the records of one method, one a launch: a Ratio."""
    return intervals.over_launches(list(map(_log, records)))


def _log(record):
    return intervals.log_of(record["step_ns"]["p50"], intervals.interval_of(record))
