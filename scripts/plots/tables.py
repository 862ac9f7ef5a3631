# SPDX-License-Identifier: Apache-2.0
"""The numbers of the figures, as HTML tables."""

import re
from dataclasses import dataclass
from html import escape

from .reliability import DISTURBED, is_grey
from .units import counted, half_text, interval_text, ratio_text, size_text

COLUMNS = ("size", "candidate", "median µs", "± %", "times as fast as the library", "% of limit", "p05", "p95", "max", "busbw GB/s",
           "calls", "launches", "stopped by", "check")
INTERVAL = re.compile(r"\[[\d., ]+\]")
BEST_OF_SIZE = 8  # rows that stay where not all have room


@dataclass(frozen=True)
class Cell:
    """Text, and the value that a table sorts it by."""

    text: str
    value: float = None
    link: str = ""
    strong: bool = False
    faint: bool = False


def cells_table(section, most):
    """Makes a row for each candidate and size over all launches, with skipped and wrong ones. If there are more than about
    `most` rows, it keeps the best of each size and the libraries. Returns the HTML and the number of rows left out."""
    keep = max(BEST_OF_SIZE, most // max(len(section.sizes), 1))
    rows, left = [], 0
    for size in section.sizes:
        found = section.order(size)
        shown = [candidate for place, candidate in enumerate(found) if place < keep or candidate in section.baselines()]
        left += len(found) - len(shown)
        rows += [_row(section, candidate, size) for candidate in shown]
    rows += [[Cell(size_text(size), size), candidate.name, *[""] * (len(COLUMNS) - 3), f"FAILED ({number} wrong)"]
             for (candidate, size), number in sorted(section.wrong.items(), key=lambda item: (item[0][1], item[0][0]))]
    skipped = [Skipped([_range(sizes), candidate.name], reason) for candidate, reason, sizes in section.skipped]
    return table(COLUMNS, rows + skipped, numbers=(0, 2, 3, *range(5, 12))), left


def _row(section, candidate, size):
    cell = section.cell(candidate, size)
    points = cell.points
    ratio = cell.over_library if candidate != section.library else None
    checks = {point["check"]["state"] for point in points}
    share = cell.percent_of_limit
    return [Cell(size_text(size), size), candidate.name + (f"\u00a0{DISTURBED}" if cell.is_disturbed else ""), _us(cell.p50),
            Cell(half_text(cell.time.half), cell.time.half, faint=is_grey(section)),
            Cell(f"{ratio_text(ratio.value)} {interval_text(ratio)}", ratio.value, faint=is_grey(section)) if ratio else "",
            "–" if share is None else Cell(f"{share:.0f}: lower bound invalid", share) if cell.beats_limit else f"{share:.0f}",
            _us(cell.p05), _us(cell.p95), _us(max(point["t_ns"]["max"] for point in points)), f"{cell.busbw:.3g}",
            cell.samples, cell.launches, ", ".join(sorted({point.get("stop_reason") or "" for point in points})),
            "ok" if checks == {"ok"} else "not checked"]


def _range(sizes):
    return size_text(min(sizes)) if len(sizes) == 1 else f"{size_text(min(sizes))} to {size_text(max(sizes))}"


def fails_table(results):
    rows = [[fail["what"], fail["phase"], fail["launch"], fail.get("rank", ""), fail.get("host", ""),
             fail.get("point", ""), fail.get("stderr_tail", "")] for fail in results.fails]
    return table(("what", "phase", "launch", "rank", "host", "point", "last output"), rows, kind="cards")


def table(columns, rows, numbers=(), kind=""):
    """A `kind` with "cards" becomes one card a row on a phone, each value after the name of its column."""
    heads = "".join(f'<th{_class(i, numbers)}>{escape(column)}</th>' for i, column in enumerate(columns))
    names = columns if "cards" in kind else ()
    body = "\n".join(_table_row(row, numbers, len(columns), names) for row in rows)
    kind = f' class="{kind}"' if kind else ""
    return (f'<div class="scroll"><table{kind}>\n<thead><tr>{heads}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody>\n</table></div>")


class Skipped:
    """A row that has a reason instead of numbers."""

    def __init__(self, known, reason):
        self.known = known
        self.reason = reason


def _table_row(row, numbers, columns, names):
    if isinstance(row, Skipped):
        return (f"<tr class=skipped>{''.join(_cell(value, i, numbers) for i, value in enumerate(row.known))}"
                f"<td colspan={columns - len(row.known)}>skipped: {escape(row.reason)}</td></tr>")
    wrong = " class=wrong" if str(row[-1]).startswith("FAILED") else ""
    return f"<tr{wrong}>{''.join(_cell(value, i, numbers, names) for i, value in enumerate(row))}</tr>"


def _cell(value, place, numbers, names=()):
    name = f' data-name="{escape(names[place])}"' if names and place else ""
    if not isinstance(value, Cell):
        return f"<td{_class(place, numbers)}{name}>{escape(str(value))}</td>"
    text = escape(INTERVAL.sub(lambda interval: interval[0].replace(" ", "\u00a0"), value.text))  # stays in one line
    text = f'<a href="#{value.link}">{text}</a>' if value.link else text
    text = f"<b>{text}</b>" if value.strong else text
    order = f' data-v="{value.value:.6g}"' if value.value is not None else ""
    return f'<td{_class(place, numbers, "faint" if value.faint else "")}{name}{order}>{text}</td>'


def _class(place, numbers, more=""):
    words = " ".join(filter(None, ("number" if place in numbers else "", more)))
    return f' class="{words}"' if " " in words else f" class={words}" if words else ""


def _us(nanoseconds):
    return f"{nanoseconds / 1000:.{3 if nanoseconds < 10_000 else 2}f}"


def rows_text(shown, left):
    return counted(shown, "row") + (f"; {left} more in the results files" if left else "")
