# SPDX-License-Identifier: Apache-2.0
"""Training steps in numbers: the answer first, then every record."""

import math

from tutti.intervals import interval_of, is_near

from .steps import time_of
from .summary import rivals_text
from .tables import Cell, Skipped, table
from .units import half_text, known_text, time_text
from .verdict import is_doubted, sign_of

ANSWER = ("workload", "shape", "best method", "step", "±\u00a0%", "exposed", "library's step over it", "not told apart from")
COLUMNS = ("method", "launch", "step ms", "± %", "compute", "communication", "exposed", "overlap", "slowdown", "wait",
           "work", "what else", "check")


def answer_table(all_steps):
    return table(ANSWER, [_answer(one) for one in all_steps if one.methods()], numbers=(3, 4, 5), kind="summary cards steps")


def _answer(steps):
    best, *others = steps.methods()
    doubted = is_doubted(steps)
    tied = steps.tied()
    near = [method.label for method in others if tied.get(method.name, False) or method.name in tied and is_near(method.time, best.time)]
    library = next((method for method in [best, *others] if method.is_library), None)
    ratio = library.over(best) if library and library is not best else None
    said = "library wins" if library is best else "–"
    if ratio:
        said = known_text(ratio, sign_of(steps))
    return [Cell(steps.shape.title, link=steps.shape.slug), steps.shape.details, Cell(best.label, strong=not doubted),
            Cell(time_text(best.step), best.step), Cell(half_text(best.time.half), best.time.half, faint=doubted), time_text(best.exposed) if best.exposed > 0 else "none",
            Cell(said, ratio.value if ratio else None, faint=doubted or bool(ratio and not ratio.is_significant)), rivals_text(near, len(tied) - len(near), "steps")]


def records_table(steps):
    rows = [_row(record) for record in sorted(steps.records, key=lambda record: (record["key"]["way"], record["launch"]))]
    return table(COLUMNS, rows, numbers=range(1, 11))


def _row(record):
    known = [record["key"]["way"], record["launch"]]
    if record.get("skipped"):
        return Skipped(known, record["skipped"])
    check = record["check"]
    state = {"ok": "ok", "skipped": "not checked"}.get(check["state"], f"FAILED ({check.get('n_wrong', 0)} wrong)")
    else_ = ", ".join(f"{metric['name']} {_number(metric.get('value'))}" for metric in record.get("metrics") or [])

    def ms(name):
        return f"{record[name]['p50'] / 1e6:.3f}"
    slowdown = record.get("slowdown")
    return known + [ms("step_ns"), half_text(time_of([record]).half), ms("compute_ns"),
                    ms("communication_ns"), ms("exposed_ns"), _overlap(record), "–" if slowdown is None else f"{slowdown:.2f}",
                    ms("wait_ns"), ms("work_ns"), else_, state]


def _number(value):
    return "not a number" if value is None else f"{value:.4g}"  # JSON has no NaN: null


def _overlap(record):
    """Says nothing where the communication is less than the median of a step is known to."""
    low, high = interval_of(record) or (0, math.inf)
    known = record.get("overlap") is not None and 2 * record["communication_ns"]["p50"] > high - low
    return f"{record['overlap']:.2f}" if known else "-"
