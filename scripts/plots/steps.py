# SPDX-License-Identifier: Apache-2.0
"""Training steps: what of them is computing, what is communication hidden behind it, and what is not hidden."""

import statistics
from dataclasses import dataclass, field
from html import escape

from . import style
from .tables import Skipped, table
from .units import counted, ratio_text, time_text

COMPUTE, HIDDEN, EXPOSED = "#c9d1d9", style.SKY, style.RED
WAYS_DRAWN = 12
COLUMNS = ("way", "launch", "step ms", "± %", "compute", "communication", "exposed", "overlap", "slowdown", "wait",
           "work", "what else", "check")


@dataclass(frozen=True)
class Shape:
    """Steps of one shape can be compared: all but the way of communicating is the same."""

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
class Way:
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

    def ways(self):
        """Measured ones with right results, the least exposed first."""
        by_name = {}
        for record in self.records:
            if not record.get("skipped") and record["check"]["state"] != "fail":
                by_name.setdefault(record["key"]["way"], []).append(record)

        def middle(records, name):
            return statistics.median(record[name]["p50"] for record in records)
        ways = [Way(name, *(middle(found, f"{part}_ns") for part in ("step", "compute", "communication", "exposed")),
                    is_library(name)) for name, found in by_name.items()]
        return sorted(ways, key=lambda way: way.exposed)


def is_library(way):
    return way.split("+")[0].split("/")[0] in ("mpi", "mpi-nonblocking", "nccl")


def steps_of(results):
    """Of each shape, in the order of the files."""
    found = {}
    for record in results.steps:
        key = record["key"]
        shape = Shape(key["workload"], key["model"], key.get("compute", ""), key.get("settings", ""),
                      key.get("buffers", ""), key["nranks"], key.get("ppn", 0))
        found.setdefault(shape, Steps(shape)).records.append(record)
    return list(found.values())


def finding(steps):
    ways = steps.ways()
    if not ways:
        return "nothing was measured"
    best = ways[0]
    said = f"{best.name} leaves {time_text(max(best.exposed, 0))} of a step of {time_text(best.step)} exposed"
    library = next((way for way in ways if way.is_library), None)
    if library and library is not best and library.exposed > 0:
        said += (f"; the library at best ({library.name}) {time_text(library.exposed)}: "
                 f"{ratio_text(max(best.exposed, 0) / library.exposed)} of it")
    return said


def draw(steps):
    """The figure as an SVG text, or None where nothing was measured."""
    ways = steps.ways()
    if not ways:
        return None
    shown = ways[:WAYS_DRAWN]
    shown += [way for way in ways[WAYS_DRAWN:] if way.is_library]
    with style.settings():
        made = style.figure(12.6, 1.4 + 0.32 * len(shown))
        axes = made.add_subplot()
        _bars(axes, shown)
        left = "" if len(shown) == len(ways) else f"; the {len(shown)} of {len(ways)} ways with the least exposed, and libraries"
        style.title(axes, f"{steps.shape.title}: a step and where its communication is{left}")
        made.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=3, bbox_to_anchor=(0.5, 0),
                    borderaxespad=0)
        made.get_layout_engine().set(rect=(0, 0.3 / made.get_figheight(), 1, 1 - 0.3 / made.get_figheight()))
        return style.svg_text(made, steps.shape.slug, f"steps of {steps.shape.title}, {steps.shape.details}")


def _bars(axes, ways):
    places = range(len(ways))

    def bar(left, width, colour, label):
        axes.barh(places, [value / 1e6 for value in width], left=[value / 1e6 for value in left], color=colour,
                  height=0.72, label=label)
    bar([0] * len(ways), [way.compute - way.hidden for way in ways], COMPUTE, "computing alone")
    bar([way.compute - way.hidden for way in ways], [way.hidden for way in ways], HIDDEN,
        "computing, communication hidden behind it")
    bar([way.compute for way in ways], [max(way.exposed, 0) for way in ways], EXPOSED, "communication exposed")
    axes.set_yticks(list(places), [f"[{way.name}]" if way.is_library else way.name for way in ways])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("ms, median step")


def section(steps, svg):
    shape = steps.shape
    figure = f"<figure>\n{svg}</figure>\n" if svg else ""
    rows = [_row(record) for record in sorted(steps.records, key=lambda record: (record["key"]["way"], record["launch"]))]
    return (f'<section id="{shape.slug}">\n<h2>{heading(steps)}</h2>\n'
            f'<p class="finding">{escape(finding(steps))}</p>\n{figure}'
            f"<details><summary>{counted(len(rows), 'way')} as a table</summary>"
            f'<div class="scroll">{table(COLUMNS, rows, numbers=range(1, 11))}</div></details>\n</section>')


def heading(steps):
    return f"{escape(steps.shape.title)}<small> {escape(steps.shape.details)}</small>"


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
                    ms("communication_ns"), ms("exposed_ns"), f"{record['overlap']:.2f}", f"{record['slowdown']:.2f}",
                    ms("wait_ns"), ms("work_ns"), else_, state]
