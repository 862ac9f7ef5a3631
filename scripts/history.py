#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Shows one metric over the launches of a machine with the same settings, and its change points (information, no verdict)."""

import math
import statistics
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "python")]
import tutti  # noqa: E402  (found by the line above)
from plots.units import counted, time_text  # noqa: E402
from tutti import command_line, database, series  # noqa: E402
from tutti.lines import ResultsError  # noqa: E402

LEAST_LEVEL = 1e-9  # a lower level needs too many permutations
INFORMATION = "information, no verdict: use tutti compare for one"


def main(arguments):
    parser = command_line.Parser(prog="history", description=__doc__, example="tutti history 'all_reduce 1M' *.jsonl -o history.svg")
    parser.add_argument("metric", metavar="METRIC", help="metric as in 'tutti compare', or part of its name")
    parser.add_argument("files", nargs="*", metavar="FILE", help="results (JSON Lines)")
    parser.add_argument("--db", metavar="FILE", help="database of 'tutti results import' instead of files")
    parser.add_argument("-o", "--output", metavar="FILE", help="also draw a picture: FILE.svg or FILE.png")
    parser.add_argument("--machine", default="", metavar="ID", help="machine and settings, by the beginning of their fingerprint")
    parser.add_argument("--level", type=float, default=0.01, help="significance level of the test (%(default)s)")
    parser.add_argument("--permutations", type=int, default=499, help="permutations of the test (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the permutations (%(default)s)")
    options = parser.parse_intermixed_args(arguments)
    if bool(options.files) == bool(options.db):
        parser.error("use either results files or --db")
    if options.output and Path(options.output).suffix not in (".svg", ".png"):
        parser.error(f"'{options.output}' is neither .svg nor .png")
    if not LEAST_LEVEL <= options.level < 1:  # nor is NaN
        parser.error(f"{options.level:g} is not a level between 0 and 1, e.g. 0.01")
    if options.level * (options.permutations + 1) < 1:
        parser.error(f"{options.permutations} permutations are too few for a level of {options.level:g}; use "
                     f"--permutations {math.ceil(1 / options.level) - 1}")
    return command_line.run("history", lambda: show(options), options.output or "stdout")


def show(options):
    try:
        found = series.series_of(records_of(options), options.metric)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ResultsError(f"a record is invalid ({type(error).__name__}: {error}); check the files with tutti show") from None
    one = chosen(found, options.machine)
    if options.output:
        command_line.require_writable(options.output)
    changes = changes_of(one, options)
    command_line.say(one.metric)
    command_line.say(f"machine {one.fingerprint}: {one.words}")
    for line in others(found, one):
        command_line.say(line)
    print_table(one, changes)
    for line in conclusion(one, changes, options):
        command_line.say(line)
    if options.output:
        draw(one, changes, options.output)
        command_line.say(f"history: {options.output}")


def records_of(options):
    if not options.db:
        return tutti.records(options.files)
    stored = database.open_to_read(options.db)
    return database.records(stored, series.the_metric(database.metrics(stored), options.metric))


def chosen(found, machine):
    """Returns the series whose fingerprint begins with `machine`, by default the one with the newest launch."""
    fitting = [one for one in found if one.fingerprint.startswith(machine)]
    if not fitting:
        raise ResultsError(f"no machine begins with '{machine}'; use one of: {' '.join(one.fingerprint for one in found)}")
    return fitting[0]


def others(found, one):
    rest = [other for other in found if other is not one]
    if not rest:
        return
    yield (f"not shown: {counted(len(rest), 'other fingerprint')} (machine and settings) with this metric"
           f"{'; this is the newest' if one is found[0] else ''}")
    for other in rest[:5]:
        differing = ", ".join(series.differences(one, other)[:4])
        yield f"  --machine {other.fingerprint}  launches until {other.runs[-1].t[:10]}: {len(other.runs)}; other {differing}"


def changes_of(one, options):
    try:
        from tutti.change_points import change_points
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-numpy") from None
    # Logarithms, as ratios of times matter.
    return change_points([math.log(value) for value in one.values()], options.level, options.permutations, options.seed)


def print_table(one, changes):
    first = {change.first for change in changes}
    width = max(6, *(len(run.commit) for run in one.runs))
    command_line.say(f"  {'launch':<19}  {'commit':<{width}}  {'time':>9}")
    for number, run in enumerate(one.runs):
        mark = "  <- change" if number in first else ""
        command_line.say(f"  {run.t[:19].replace('T', ' '):<19}  {run.commit:<{width}}  {time_text(run.value):>9}{mark}")


def conclusion(one, changes, options):
    from tutti.change_points import LEAST
    if len(one.runs) < 2 * LEAST:
        yield f"too few launches for a change point ({len(one.runs)}): {LEAST} are needed on each side"
        return
    yield (f"{counted(len(changes), 'change point')} in {len(one.runs)} launches (E-divisive, level {options.level:g}, "
           f"{options.permutations} permutations, seed {options.seed}; {INFORMATION})")
    for change, before, after in steps(one, changes):
        last, run = one.runs[change.first - 1], one.runs[change.first]
        facts = {"commit": (last.commit, run.commit)} | {name: (last.facts[name], run.facts[name]) for name in run.facts}
        differing = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in facts.items() if old != new)
        yield (f"  {run.t[:19].replace('T', ' ')}: {time_text(before)} -> {time_text(after)} ({100 * (after / before - 1):+.1f} %),"
               f" p = {change.p:.3g}; changed facts: {differing or 'none in the records'}")


def steps(one, changes):
    """Returns each change with the medians before and after it, up to the neighbouring changes."""
    cuts = [0, *(change.first for change in changes), len(one.runs)]
    medians = [statistics.median(one.values()[begin:end]) for begin, end in zip(cuts, cuts[1:])]
    return list(zip(changes, medians, medians[1:]))


def draw(one, changes, path):
    try:
        from plots import style
        from plots.palette import BLACK, BLUE, RED
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-matplotlib") from None
    values = one.values()
    unit, factor = next((unit, factor) for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1))
                        if max(values) >= factor or factor == 1)
    cuts = [0, *(change.first for change in changes), len(values)]
    with style.settings():
        canvas = style.Canvas(None)
        made = canvas.figure(3.8, style.SCREEN.wide)
        axes = made.subplots()
        axes.plot(range(len(values)), [value / factor for value in values], "o", color=BLUE, markersize=4)
        for begin, end in zip(cuts, cuts[1:]):
            axes.hlines(statistics.median(values[begin:end]) / factor, begin - 0.4, end - 0.6, color=BLACK, linewidth=1.6)
        for change, before, after in steps(one, changes):
            axes.axvline(change.first - 0.5, color=RED, linestyle="--", linewidth=1.2)
            axes.annotate(f"{100 * (after / before - 1):+.1f} %", (change.first - 0.5, 1), xycoords=("data", "axes fraction"),
                          xytext=(4, -12), textcoords="offset points", color=RED)
        shown = range(0, len(values), max(1, math.ceil(len(values) / 12)))
        axes.set_xticks(list(shown), [f"{one.runs[i].t[:10]}\n{one.runs[i].commit[:9]}" for i in shown], fontsize=7)
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"median of a launch ({unit})")
        axes.set_xlabel(f"launches in order of time; machine {one.fingerprint}: {one.words}", fontsize=8)
        canvas.finish(made, f"{one.metric}: {counted(len(changes), 'change point')} (information, no verdict)", "", [])
        if Path(path).suffix == ".svg":
            svg = style.svg_text(made, "history", f"{one.metric} over {len(values)} launches")
            Path(path).write_text('<?xml version="1.0" encoding="utf-8"?>\n' + svg, encoding="utf-8")
        else:
            made.savefig(path, dpi=150)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
