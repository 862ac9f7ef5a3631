# SPDX-License-Identifier: Apache-2.0
"""The comparison as Markdown."""

import shlex
from pathlib import Path

from plots import provenance
from plots.units import size_text
from tutti.intervals import interval_of

from .goals import evaluated, ratio_text
from .plan import LAUNCHES
from .summary import geometric_mean, is_wrong, undisturbed

NOTES = """\
- Times are medians in µs of the slowest rank, out of place, of floats that are added where anything is. All
  candidates of a size alternate within one launch; every result is checked.
- **ours** is the fastest of tutti's algorithms over `shm`, **library** the fastest of the MPI library's default and
  each of its own algorithms, forced. On {oversubscribed} ranks only {algorithms} of ours take part.
- **ratio** is library / ours: above 1 ours is faster. **to default** is the same against what the MPI library does
  unasked. Both sides use the same memory: `registered` is shared by the ranks, `unregistered` is each one's own heap, in huge pages where the system gives them.
- The least of several noisy medians is less than any one of them deserves. That flatters both sides alike, and the
  side with more candidates a little more; **to default** has no such choice on the library's side.
- **% of limit** is the least time that this machine allows, as measured at the begin of the launch, over our median.
- **disturbed** is a size at which other programs took the cores, so that ranks missed most of their deadlines and were
  started by barriers. Its times are the scheduler's, and it has no part in goals and means: measure that launch again.
- A `~` marks a median that is not known to 10 % (too few calls, or too unsteady ones).
- Size is that of the vector for all_reduce, broadcast and reduce, else of all ranks' blocks together, as in nccl-tests.
- One launch each: another one may differ by more than the intervals say.
"""
COLUMNS = ("ours, µs", "library, µs", "ratio", "to default", "% of limit")
KINDS = ("registered", "unregistered")


def page(results, rows):
    library = ", ".join(dict.fromkeys(_library(launch) for launch in results.launches if launch.get("mpi")))
    oversubscribed = [launch for launch in LAUNCHES if launch.algorithms != "all"]
    notes = NOTES.format(oversubscribed=" and ".join(str(ranks) for ranks in sorted({x.ranks for x in oversubscribed})),
                         algorithms=oversubscribed[0].algorithms.replace(",", ", "))
    parts = [f"# tutti against {library or 'no library'}", _origin(results), notes, *_cautions(results, rows),
             "## Goals", goals_table(rows),
             "## Geometric means over the sizes", _means(rows),
             *(part for launch in LAUNCHES for part in _section(launch, rows)),
             "## Launches", _launches(results)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def goals_table(rows):
    return table(("goal", "figure", "met"), evaluated(rows))


def table(columns, rows, numbers=()):
    rule = ["---:" if i in numbers else "---" for i in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _library(launch):
    return f"{launch['mpi'].get('vendor', 'MPI')} {launch['mpi'].get('version', '')}".strip()


def _origin(results):
    """Who measured what where; commands and files stand with the launches."""
    rows = [(word, "; ".join(texts)) for word, texts in provenance.rows(results)
            if word in ("host", "CPU", "kernel", "virtual machine", "libraries", "tutti", "date")]
    seconds = sum(end["wall_ns"] for end in results.ends) / 1e9
    return table(("", ""), [*rows, ("duration", f"{seconds:.0f} s for {len(results.ends)} launches")])


def _cautions(results, rows):
    cautions = list(results.warnings)
    wrong = [point for point in results.points if is_wrong(point)]
    if wrong:
        cautions.append(f"WRONG RESULTS: {len(wrong)} points, which are left out")
    ended = {(end["file"], end["launch"]) for end in results.ends if end["ok"]}
    cautions += [f"{Path(launch['file']).stem} did not run to its end, or had wrong results: see its log"
             for launch in results.launches if (launch["file"], launch["launch"]) not in ended]
    seen = {Path(launch["file"]).stem for launch in results.launches}
    missing = [launch.name for launch in LAUNCHES if launch.name not in seen]
    cautions += [f"no records of {', '.join(missing)}"] if missing else []
    disturbed = [launch.name for launch in LAUNCHES if any(row.get("disturbed") for row in rows_of(launch, rows))]
    if disturbed:
        cautions.append(f"other programs disturbed {', '.join(disturbed)}; on a quiet machine type: "
                    f"scripts/compare_libraries --only {','.join(disturbed)}, with the options of before")
    return [f"**Caution**: {text}." for text in cautions]


def _means(rows):
    lines = []
    for launch in LAUNCHES:
        cells = [launch.collective, launch.ranks]
        for kind in KINDS:
            mine = [row for row in rows_of(launch, rows) if row["buffers"] == kind]
            cells += [_mean(mine, field) for field in ("ratio_to_best", "ratio_to_default")]
        if any(cell != "–" for cell in cells[2:]):
            lines.append(cells)
    return table(("collective", "ranks", *(f"{kind}: {to}" for kind in KINDS for to in ("ratio", "to default"))),
                 lines, numbers=range(1, 6))


def _mean(rows, field):
    mean = geometric_mean([row[field] for row in undisturbed(rows) if row.get(field)])
    return "–" if mean is None else ratio_text(mean)


def rows_of(launch, rows):
    return [row for row in rows if row["coll"] == launch.collective and row["nranks"] == launch.ranks]


def _section(launch, rows):
    mine = rows_of(launch, rows)
    if not mine:
        return []
    lines = []
    for size in sorted({row["bytes"] for row in mine}):
        line = [size_text(size)]
        for kind in KINDS:
            row = next((row for row in mine if (row["bytes"], row["buffers"]) == (size, kind)), {})
            line += _cells(row)
        lines.append(line)
    columns = ("bytes", *(f"{kind}: {column}" if column == COLUMNS[0] else column for kind in KINDS
                          for column in COLUMNS))
    return [f"## {launch.collective} on {launch.ranks} ranks",
            table(columns, lines, numbers=[i for i in range(len(columns)) if i % 5 not in (1, 2)])]


def _cells(row):
    """The five columns of a size in one kind of memory."""
    return [_time(row.get("ours")) + (" (disturbed)" if row.get("disturbed") else ""), _time(row.get("library_best")),
            _ratio(row.get("ratio_to_best")), _ratio(row.get("ratio_to_default")), _percent(row.get("pct_of_limit"))]


def _time(figures):
    if not figures:
        return "–"
    p50, interval = figures["p50_ns"], interval_of(figures)
    unsure = "" if interval and interval[1] - interval[0] <= 0.2 * p50 else "~"
    return f"{_micro(p50)}{unsure} {figures['algo']}"


def _micro(nanoseconds):
    """Three digits, but never finer than the clock."""
    us = nanoseconds / 1000
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def _ratio(ratio):
    return "–" if ratio is None else ratio_text(ratio)


def _percent(share):
    return "–" if share is None else f"{share:.0f}"


def _launches(results):
    walls = {(end["file"], end["launch"]): end["wall_ns"] / 1e9 for end in results.ends}
    commands = {session["id"]: shlex.join(session["argv"]) for session in results.sessions}
    lines = [(Path(launch["file"]).stem, launch["nranks"], f"{walls[launch['file'], launch['launch']]:.0f}"
              if (launch["file"], launch["launch"]) in walls else "–", f"`{commands.get(launch.get('session'), '')}`")
             for launch in results.launches]
    return table(("launch", "ranks", "s", "command"), lines, numbers=(1, 2))
