# SPDX-License-Identifier: Apache-2.0
"""The comparison as Markdown."""

import shlex
from pathlib import Path

from plots import provenance
from plots.records import launch_of
from plots.units import size_text

from .goals import evaluated, ratio_text
from .plan import INPUTS, LAUNCHES, launches
from .settings import DEFAULT, Setting, expected, setting_of
from .summary import geometric_mean, is_wrong, undisturbed

NOTES = """\
- Times are medians in µs of the slowest rank, out of place, with floats and sums. All candidates of a size alternate
  within one launch; every result is checked.
- **ours** is the fastest of tutti's algorithms over `shm`, **library** the fastest of the MPI library's default and
  each of its own algorithms, forced. On {oversubscribed} ranks only {algorithms} of ours take part.
- **ratio** is library / ours: above 1 ours is faster. Both sides use the same memory: `registered` is shared by the
  ranks, `unregistered` is each one's own heap, in huge pages where the system gives them.
- Each of a library's **settings** has its own launch, and ours takes part in all of them. As the machine changes
  between launches, both times of a ratio are from one launch. A row shows the launch with the lowest ratio; its setting
  follows the library's time, unless it is the default. So the library has the best of several launches, but ours does not.
- **to default** is the ratio to the MPI library's default algorithm, in the launch of the default setting.
- Input is **untouched** between calls, so that it is read from caches if it fits, or **rewritten** by its rank before
  each call (not timed), as programs do. All tables separate the two.
- The minimum of several noisy medians is too low. That favours both sides, and the side with more candidates a little
  more; **to default** has no such choice on the library's side.
- **% of limit** is the minimum time of this machine, measured at the start of the launch, divided by our median.
- **disturbed** marks a size at which other programs used the cores, with the setting in question: ranks missed most of
  their deadlines and were started by barriers. Goals and means ignore it: measure that launch again.
- A `~` marks a median with an uncertainty above 10 % (too few or too unsteady calls).
- Size is that of the vector for all_reduce, broadcast and reduce, else of all ranks' blocks together, as in nccl-tests.
- There is one launch each: another one may differ by more than the intervals.
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
             *(part for state in INPUTS for part in _means(state, rows)),
             *(part for launch in LAUNCHES for state in INPUTS for part in _section(launch, state, rows)),
             "## Launches", _launches(results)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def goals_table(rows):
    return table(("goal", *(word for state in INPUTS for word in (f"input {state}", "met"))), evaluated(rows))


def table(columns, rows, numbers=()):
    rule = ["---:" if i in numbers else "---" for i in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _library(launch):
    return f"{launch['mpi'].get('vendor', 'MPI')} {launch['mpi'].get('version', '')}".strip()


def _origin(results):
    """Returns the table of versions, machine and date; commands and files are in the table of launches."""
    rows = [(word, "; ".join(texts)) for word, texts in provenance.rows(results)
            if word in ("host", "CPU", "kernel", "virtual machine", "libraries", "tutti", "date")]
    seconds = sum(end["wall_ns"] for end in results.ends) / 1e9
    settings = dict.fromkeys(map(setting_of, results.launches))
    rows += [(f"setting {setting.name}", f"`{setting.text}`" if setting.text else "–") for setting in settings]
    return table(("", ""), [*rows, ("duration", f"{seconds:.0f} s for {len(results.ends)} launches")])


def _cautions(results, rows):
    cautions = list(results.warnings)
    wrong = [point for point in results.points if is_wrong(point)]
    if wrong:
        cautions.append(f"WRONG RESULTS: {len(wrong)} points, which are left out")
    ended = {launch_of(end) for end in results.ends if end["ok"]}
    cautions += [f"{Path(launch['file']).stem} did not finish, or had wrong results: see its log"
             for launch in results.launches if launch_of(launch) not in ended]
    missing = [name for launch in LAUNCHES for name in _missing(launch, results)]
    cautions += [f"no records of {', '.join(missing)}"] if missing else []
    cautions += [caution for state in INPUTS for name in expected(results.launches)
                 for caution in _disturbed(state, name, rows)]
    return [f"**Caution**: {text}." for text in cautions]


def _missing(launch, results):
    """Returns the names of launches without records; one name for all launches of a collective."""
    settings = [Setting(name) for name in expected(results.launches)]
    seen = {Path(other["file"]).stem for other in results.launches}
    wanted = [one.name for one in launches([launch.table], INPUTS, settings)]
    missing = [name for name in wanted if name not in seen]
    return [launch.table] if missing == wanted else missing


def _disturbed(state, setting, rows):
    tables = [launch.table for launch in LAUNCHES
              if any(setting in row.get("disturbed", []) for row in rows_of(launch, state, rows))]
    if tables:
        yield (f"other programs disturbed {', '.join(tables)}; on a quiet machine use scripts/compare_libraries --only "
               f"{','.join(tables)} --settings {setting} --input {state}, with the same other options")


def _means(state, rows):
    lines = []
    for launch in LAUNCHES:
        cells = [launch.collective, launch.ranks]
        for kind in KINDS:
            mine = [row for row in rows_of(launch, state, rows) if row["buffers"] == kind]
            cells += [_mean(mine, field) for field in ("ratio_to_best", "ratio_to_default")]
        if any(cell != "–" for cell in cells[2:]):
            lines.append(cells)
    if not lines:
        return []
    return [f"## Geometric means over the sizes, input {state}",
            table(("collective", "ranks", *(f"{kind}: {to}" for kind in KINDS for to in ("ratio", "to default"))),
                  lines, numbers=range(1, 6))]


def _mean(rows, field):
    mean = geometric_mean([row[field] for row in undisturbed(rows) if row.get(field)])
    return "–" if mean is None else ratio_text(mean)


def rows_of(launch, state, rows):
    return [row for row in rows if (row["coll"], row["nranks"], row["input"]) == (launch.collective, launch.ranks, state)]


def _section(launch, state, rows):
    mine = rows_of(launch, state, rows)
    if not mine:
        return []
    each = COLUMNS if any("pct_of_limit" in row for row in mine) else COLUMNS[:-1]
    lines = []
    for size in sorted({row["bytes"] for row in mine}):
        line = [size_text(size)]
        for kind in KINDS:
            row = next((row for row in mine if (row["bytes"], row["buffers"]) == (size, kind)), {})
            line += _cells(row)[:len(each)]
        lines.append(line)
    columns = ("bytes", *(f"{kind}: {column}" if column == COLUMNS[0] else column for kind in KINDS for column in each))
    return [f"## {launch.collective} on {launch.ranks} ranks, input {state}",
            table(columns, lines, numbers=[i for i in range(len(columns)) if i % len(each) not in (1, 2)])]


def _cells(row):
    """Returns the five cells of a size and a kind of memory."""
    disturbed = f" ({', '.join(row['disturbed'])} disturbed)" if row.get("disturbed") else ""
    setting = f" ({row['setting']})" if row.get("setting", DEFAULT.name) != DEFAULT.name else ""
    return [_time(row.get("ours")) + disturbed, _time(row.get("library_best")) + setting,
            _ratio(row.get("ratio_to_best")), _ratio(row.get("ratio_to_default")), _percent(row.get("pct_of_limit"))]


def _time(figures):
    if not figures:
        return "–"
    p50, interval = figures["p50_ns"], figures["interval_ns"]
    unsure = "" if interval and interval[1] - interval[0] <= 0.2 * p50 else "~"
    return f"{_micro(p50)}{unsure} {figures['algo']}"


def _micro(nanoseconds):
    """Returns three digits, but not finer than the clock."""
    us = nanoseconds / 1000
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def _ratio(ratio):
    return "–" if ratio is None else ratio_text(ratio)


def _percent(share):
    return "–" if share is None else f"{share:.0f}"


def _launches(results):
    walls = {launch_of(end): f"{end['wall_ns'] / 1e9:.0f}" for end in results.ends}
    commands = {session["id"]: shlex.join(session["argv"]) for session in results.sessions}
    lines = [(Path(launch["file"]).stem, launch["nranks"], walls.get(launch_of(launch), "–"),
              "`" + " ".join(filter(None, [setting_of(launch).text, commands.get(launch.get("session"))])) + "`")
             for launch in results.launches]
    return table(("launch", "ranks", "s", "command"), lines, numbers=(1, 2))
