# SPDX-License-Identifier: Apache-2.0
"""Training steps in numbers: the answer first, then every record."""

from .reliability import is_doubted, is_grey
from .summary import rivals_text
from .tables import Cell, Skipped, table
from .units import half_text, known_text, time_text

ANSWER = ("workload", "shape", "best method", "step", "±\u00a0%", "exposed", "library's step over it", "statistically tied with")
COLUMNS = ("method", "launch", "step ms", "± %", "compute", "communication", "exposed", "overlap", "slowdown", "wait",
           "work", "what else", "check")


def answer_table(all_steps):
    return table(ANSWER, [_answer(one) for one in all_steps if one.methods], numbers=(3, 4, 5), kind="summary cards steps")


def _answer(steps):
    best, *others = steps.methods
    tied = [method.label for method in others if method.is_tied]
    unknown = sum(method.is_unknown and not method.is_tied for method in others)
    library = next((method for method in steps.methods if method.is_library), None)
    ratio = library.over_best if library and library is not best else None
    said = known_text(ratio) if ratio else "library wins" if library is best else "–"
    return [Cell(steps.shape.title, link=steps.shape.slug), steps.shape.details, Cell(best.label, strong=not is_doubted(steps)),
            Cell(time_text(best.step), best.step), Cell(half_text(best.time.half), best.time.half, faint=is_grey(steps)),
            time_text(best.exposed) if best.exposed > 0 else "none",
            Cell(said, ratio.value if ratio else None, faint=is_grey(steps) or bool(ratio and not ratio.significant)),
            rivals_text(tied, unknown, "steps")]


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
    return known + [ms("step_ns"), half_text(_half(record)), ms("compute_ns"),
                    ms("communication_ns"), ms("exposed_ns"), _overlap(record), "–" if slowdown is None else f"{slowdown:.2f}",
                    ms("wait_ns"), ms("work_ns"), else_, state]


def _number(value):
    return "not a number" if value is None else f"{value:.4g}"  # JSON has no NaN: null


def _half(record):
    interval = record["interval_ns"]
    return (interval[1] - interval[0]) / 2 / max(record["step_ns"]["p50"], 1) if interval else None


def _overlap(record):
    """Returns a dash where the communication is shorter than the interval of the step."""
    interval = record["interval_ns"]
    known = interval and record.get("overlap") is not None and 2 * record["communication_ns"]["p50"] > interval[1] - interval[0]
    return f"{record['overlap']:.2f}" if known else "–"
