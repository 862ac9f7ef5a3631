# SPDX-License-Identifier: Apache-2.0
"""The numbers behind the figures, as HTML tables."""

from html import escape

from .sections import candidate_of
from .units import size_text

COLUMNS = ("size", "candidate", "launch", "median µs", "± %", "p05", "p95", "max", "busbw GB/s", "% of limit", "n",
           "stopped by", "check")


def points_table(section):
    """Every point, the skipped and the wrong ones too."""
    ordered = sorted(section.points, key=lambda point: (
        point["key"]["bytes"], candidate_of(point).label, point["launch"], point["file"]))
    return table(COLUMNS, [_row(point) for point in ordered], numbers=(0, 2, 3, 4, 5, 6, 7, 8, 9, 10))


def fails_table(results):
    rows = [[fail["launch"], fail["phase"], fail["what"], fail.get("rank", ""), fail.get("host", ""),
             fail.get("point", ""), fail.get("stderr_tail", "")] for fail in results.fails]
    return table(("launch", "phase", "what", "rank", "host", "point", "last words"), rows)


def table(columns, rows, numbers=()):
    def cells(tag, values):
        return "".join(f'<{tag}{" class=number" if i in numbers else ""}>{escape(str(value))}</{tag}>'
                       for i, value in enumerate(values))
    body = "\n".join(_table_row(row, cells) for row in rows)
    return (f"<table>\n<thead><tr>{cells('th', columns)}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>")


def _table_row(row, cells):
    if isinstance(row, Skipped):
        return (f"<tr class=skipped>{cells('td', row.known)}"
                f"<td colspan={row.columns - len(row.known)}>skipped: {escape(row.reason)}</td></tr>")
    wrong = " class=wrong" if str(row[-1]).startswith("FAILED") else ""
    return f"<tr{wrong}>{cells('td', row)}</tr>"


class Skipped:
    """A row that has a reason instead of numbers."""

    def __init__(self, known, reason, columns=len(COLUMNS)):
        self.known = known
        self.reason = reason
        self.columns = columns


def _row(point):
    known = [size_text(point["key"]["bytes"]), candidate_of(point).label, point["launch"]]
    if point.get("skipped"):
        return Skipped(known, point["skipped"])
    times, (lo, hi) = point["t_ns"], point["ci95_p50_ns"]
    half = 100 * (hi - lo) / (2 * times["p50"]) if times["p50"] else 0
    check = point["check"]
    state = {"ok": "ok", "skipped": "not checked"}.get(check["state"], f"FAILED ({check.get('n_wrong', 0)} wrong)")
    return known + [_us(times["p50"]), f"{half:.1f}", _us(times["p05"]), _us(times["p95"]), _us(times["max"]),
                    f"{point['busbw_GBps']:.3g}", _percent(point), point["n"], point.get("stop_reason", ""), state]


def _percent(point):
    share = point.get("pct_of_limit")
    return "" if share is None else f"{share:.0f}"


def _us(nanoseconds):
    return f"{nanoseconds / 1000:.2f}"
