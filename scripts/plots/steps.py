# SPDX-License-Identifier: Apache-2.0
"""Training steps: what of them is computing, what is communication hidden behind it, and what is not hidden."""

import statistics
from dataclasses import dataclass, field
from html import escape

from . import style
from .tables import Skipped, table
from .units import counted, ratio_text, time_text

COMPUTE, HIDDEN, EXPOSED = "#c9d1d9", style.SKY, style.RED
SERIES = ((COMPUTE, "computing"), (HIDDEN, "computing, communication hidden behind it"), (EXPOSED, "communication exposed"))
METHODS_DRAWN = 12
TITLE_LETTERS = 66  # of a line, beside the names of methods
WORKLOADS = ("ddp", "zero", "tensor-parallel", "pipeline", "moe", "train", "parameter-server", "federated", "replay")
COLUMNS = ("method", "launch", "step ms", "± %", "compute", "communication", "exposed", "overlap", "slowdown", "wait",
           "work", "what else", "check")


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
        return ", ".join(words + ([self.settings] if self.settings else []))

    @property
    def slug(self):
        parts = (self.workload, self.model, self.compute, self.nranks, self.ppn, self.buffers, self.settings)
        text = "-".join(str(part) for part in parts if part)
        return "step-" + "".join(letter if letter.isalnum() else "-" for letter in text).strip("-")


@dataclass
class Method:
    """Medians over the launches, in ns."""

    name: str
    step: float
    compute: float
    communication: float
    exposed: float
    is_library: bool

    @property
    def hidden(self):
        return min(max(self.communication - max(self.exposed, 0), 0), self.compute)


@dataclass(eq=False)
class Steps:
    shape: Shape
    records: list = field(default_factory=list)

    def methods(self):
        """Measured ones with right results, the least exposed first."""
        by_name = {}
        for record in self.records:
            if not record.get("skipped") and record["check"]["state"] != "fail":
                by_name.setdefault(record["key"]["way"], []).append(record)

        def middle(records, name):
            return statistics.median(record[name]["p50"] for record in records)
        methods = [Method(name, *(middle(found, f"{part}_ns") for part in ("step", "compute", "communication", "exposed")),
                    is_library(name)) for name, found in by_name.items()]
        return sorted(methods, key=lambda method: method.exposed)


def is_library(method):
    """A library's own collectives, also where a workload says what they do: all-reduce mpi."""
    return method.split("+")[0].split("/")[0].split(" ")[-1] in ("mpi", "mpi-nonblocking", "nccl")


def steps_of(results):
    """Of each shape, in the order of the files, but workload by workload."""
    found = {}
    for record in results.steps:
        key = record["key"]
        buffers = key.get("buffers", "")
        shape = Shape(key["workload"], key["model"], key.get("compute", ""), key.get("settings", ""),
                      "unregistered" if buffers == "ordinary" else buffers,  # its name in version 0.1
                      key["nranks"], key.get("ppn", 0))
        found.setdefault(shape, Steps(shape)).records.append(record)
    known = {name: place for place, name in enumerate(WORKLOADS)}
    return sorted(found.values(), key=lambda one: (known.get(one.shape.workload, len(known)), one.shape.workload))


def finding(steps):
    methods = steps.methods()
    if not methods:
        return "nothing was measured"
    best = methods[0]
    said = f"{best.name} leaves {_left(best)} of a step of {time_text(best.step)} exposed"
    library = next((method for method in methods if method.is_library), None)
    if library and library is not best and library.exposed > 0:
        said += (f"; the library at best ({library.name}) {time_text(library.exposed)}: "
                 f"{ratio_text(max(best.exposed, 0) / library.exposed)} of it")
    return said


def _left(method):
    return time_text(method.exposed) if method.exposed > 0 else "nothing"


def draw(steps):
    """The figure as an SVG text, or None where nothing was measured."""
    methods = steps.methods()
    if not methods:
        return None
    shown = methods[:METHODS_DRAWN]
    shown += [method for method in methods[METHODS_DRAWN:] if method.is_library]
    with style.settings():
        made = style.figure(7.6, 1.05 + 0.3 * len(shown))
        axes = made.add_subplot()
        _bars(axes, shown)
        left = "" if len(shown) == len(methods) else f" (the {len(shown)} least exposed of {len(methods)} methods, and libraries)"
        style.title(axes, finding(steps) + left, TITLE_LETTERS)
        return style.svg_text(made, steps.shape.slug, f"steps of {steps.shape.title}, {steps.shape.details}")


def _bars(axes, methods):
    places = range(len(methods))
    ends = [method.compute + max(method.exposed, 0) for method in methods]

    def bar(left, width, colour):
        axes.barh(places, [value / 1e6 for value in width], left=[value / 1e6 for value in left], color=colour,
                  height=0.72)
    bar([0] * len(methods), [method.compute - method.hidden for method in methods], COMPUTE)
    bar([method.compute - method.hidden for method in methods], [method.hidden for method in methods], HIDDEN)
    bar([method.compute for method in methods], [max(method.exposed, 0) for method in methods], EXPOSED)
    for place, method, end in zip(places, methods, ends):
        axes.annotate(time_text(method.exposed) if method.exposed > 0 else "none", (end / 1e6, place), xytext=(4, 0),
                      textcoords="offset points", va="center", fontsize=8, color=EXPOSED)
    axes.set_xlim(0, max(ends) / 1e6 * 1.12)
    axes.set_yticks(list(places), [f"[{method.name}]" if method.is_library else method.name for method in methods])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ms, median step; the number is what is exposed")


def section(all_steps):
    """All shapes side by side, those of a workload together; their numbers below."""
    if not all_steps:
        return ""
    shapes = "\n".join(_shape(one, svg) for one, svg in all_steps)
    tables = "\n".join(f"<h3>{heading(one)}</h3>\n<div class=\"scroll\">{_table(one)}</div>" for one, _ in all_steps)
    methods = sum(len(one.records) for one, _ in all_steps)
    return (f'<section id="steps">\n<h2>Training steps<small> where their communication is</small></h2>\n{LEGEND}\n'
            f'<div class="pair">\n{shapes}</div>\n'
            f"<details><summary>{counted(methods, 'method')} as a table</summary>\n{tables}</details>\n</section>")


LEGEND = '<p class="legend">' + " ".join(
    f'<span><i style="background:{colour}"></i>{label}</span>' for colour, label in SERIES) + "</p>"


def heading(steps):
    return f"{escape(steps.shape.title)}<small> {escape(steps.shape.details)}</small>"


def _shape(one, svg):
    body = f"<figure>\n{svg}</figure>" if svg else '<p class="finding">nothing was measured</p>'
    return f'<article id="{one.shape.slug}">\n<h3>{heading(one)}</h3>\n{body}\n</article>\n'


def _table(steps):
    rows = [_row(record) for record in sorted(steps.records, key=lambda record: (record["key"]["way"], record["launch"]))]
    return table(COLUMNS, rows, numbers=range(1, 11))


def _row(record):
    known = [record["key"]["way"], record["launch"]]
    if record.get("skipped"):
        return Skipped(known, record["skipped"], len(COLUMNS))
    lo, hi = record["ci95_step_ns"]
    middle = record["step_ns"]["p50"]
    check = record["check"]
    state = {"ok": "ok", "skipped": "not checked"}.get(check["state"], f"FAILED ({check.get('n_wrong', 0)} wrong)")
    else_ = ", ".join(f"{metric['name']} {metric['value']:.4g}" for metric in record.get("metrics", []))

    def ms(name):
        return f"{record[name]['p50'] / 1e6:.3f}"
    return known + [ms("step_ns"), f"{100 * (hi - lo) / (2 * middle) if middle else 0:.1f}", ms("compute_ns"),
                    ms("communication_ns"), ms("exposed_ns"), _overlap(record), f"{record['slowdown']:.2f}",
                    ms("wait_ns"), ms("work_ns"), else_, state]


def _overlap(record):
    """Says nothing where the communication is less than the median of a step is known to."""
    lo, hi = record["ci95_step_ns"]
    return f"{record['overlap']:.2f}" if 2 * record["communication_ns"]["p50"] > hi - lo else "-"
