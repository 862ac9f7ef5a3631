# SPDX-License-Identifier: Apache-2.0
"""Training steps: computing, hidden communication, and exposed communication."""

from dataclasses import dataclass

from .naming import Setup
from .records import Ratio, notes_of, ratio_of
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
    setup: Setup = Setup()

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
        return ", ".join(words + [word for word in (self.settings, self.placement, self.setup.details) if word])

    @property
    def slug(self):
        parts = (self.workload, self.model, self.compute, self.nranks, self.ppn, self.buffers, self.placement, self.settings,
                 self.setup.slug)
        return "step-" + slug_of("-".join(str(part) for part in parts if part))


@dataclass(frozen=True)
class Method:
    """Medians over the launches, in ns."""

    name: str
    step: float
    time: Ratio       # that of a step with its interval
    compute: float
    communication: float
    exposed: float
    over_best: Ratio  # its time over that of the shortest step
    is_tied: bool
    is_unknown: bool  # too few steps, or no common launch, to compare it with the shortest
    launches: int
    title: str        # the reader's name for it, or its own

    @property
    def is_library(self):
        return is_library(self.name)

    @property
    def label(self):
        return f"[{self.title}]" if self.is_library else self.title

    @property
    def hidden(self):
        return min(max(self.communication - max(self.exposed, 0), 0), self.compute)


class Steps:
    def __init__(self, table, results):
        key = table["key"]
        buffers = key.get("buffers") or ""
        self.shape = Shape(key["workload"], key["model"], key.get("compute") or "", key.get("settings") or "",
                           "unregistered" if buffers == "ordinary" else buffers,  # its name in version 0.1
                           key["nranks"], key.get("ppn") or 0, key.get("placement") or "", results.names.setup(table["setup"]))
        self.records = [results.steps[place] for place in table["steps"]]
        self.notes = notes_of(table["notes"])
        self.methods = [Method(one["name"], one["step_ns"], ratio_of(one["time"]), one["compute_ns"], one["communication_ns"],
                               one["exposed_ns"], ratio_of(one["over_best"]), one["tied"], one["unknown"], len(one["steps"]), results.names.part(one["name"]))
                        for one in table["methods"]]  # the shortest step first

    def others(self):
        return self.methods[1:]


def is_library(method):
    """A library's own collectives, also where a workload says what they do: all-reduce mpi."""
    return method.split("+")[0].split("/")[0].split(" ")[-1] in ("mpi", "mpi-nonblocking", "nccl")


def steps_of(results):
    """The steps of each shape, workload by workload."""
    known = {name: place for place, name in enumerate(WORKLOADS)}
    return sorted((Steps(table, results) for table in results.training),
                  key=lambda one: (known.get(one.shape.workload, len(known)), one.shape.workload))


def finding(steps):
    """In one clause: the shortest step, and how long the library takes."""
    if not steps.methods:
        return "nothing was measured"
    best = steps.methods[0]
    exposed = f"{time_text(best.exposed)} of it" if best.exposed > 0 else "nothing of it"
    said = f"{best.title}: step of {time_text(best.step)}, {exposed} exposed"
    library = next((method for method in steps.others() if method.is_library), None)
    if library:
        ratio = library.over_best
        is_known = ratio and ratio.is_known and ratio.significant
        said += f"; {library.label} " + (f"takes {ratio_text(ratio.value)}× {interval_text(ratio)}" if is_known else "is statistically tied")
    return said
