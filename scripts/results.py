#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the records of many results files in a SQLite database and queries them."""

import csv
import json
import re
import shlex
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from tutti import columns, command_line, database  # noqa: E402  (found by the line above)
from tutti.lines import ResultsError, lines_of  # noqa: E402
from tutti.names import without_place  # noqa: E402
from tutti.printable import in_line  # noqa: E402

SHOWN = ("metric, nranks, hosts, buf, substr(machine, 1, 8) AS machine, t, git, p50_ns, ci95_p50_low_ns, ci95_p50_high_ns, busbw_GBps,"
         " check_state, skipped")
EXPORTED = ", ".join(f'"{name}"' for name in (*database.HEADS, *columns.COLUMNS["points"], "json"))
STATEMENT = re.compile(r"\s*(select|with|explain)\b", re.IGNORECASE)
SIZE = re.compile(r"'[^']*'|\"[^\"]*\"|\b(\d+)([KMGT])\b")
EXAMPLE = """tutti results query "coll = 'all_reduce' and bytes >= 1M\""""


def main(arguments):
    parser = command_line.Parser(prog="results", description=__doc__, example="tutti results import run.jsonl --db results.sqlite",
                                 epilog="; ".join(f"{verb}: {action.__doc__}" for verb, (action, *_) in VERBS.items()))
    parser.add_argument("verb", choices=VERBS)
    parser.add_argument("words", nargs="*", metavar="WORD", help="files for import, an ID for show, a query for query and export")
    parser.add_argument("--db", default="results.sqlite", metavar="FILE", help="the database (%(default)s)")
    for form in FORMS:
        parser.add_argument(f"--{form}", metavar="FILE", help="of export")
    options = parser.parse_intermixed_args(arguments)
    action, least, most = VERBS[options.verb]
    if not least <= len(options.words) <= most:
        parser.error(f"{options.verb} takes {least if least == most else f'{least} or more'} arguments")
    if (options.verb == "export") != any(getattr(options, form) for form in FORMS):
        parser.error("--csv FILE or --parquet FILE is required by export and only used there")
    return command_line.run("results", lambda: action(options), options.csv or options.parquet or "stdout")


def import_files(options):
    """adds the records of results files; existing ones stay unchanged"""
    into = database.open_to_write(options.db)
    unread = []  # the other files are good
    for path in options.words:
        try:
            lines = list(lines_of(path))
        except ResultsError as error:
            unread.append(str(error))
            continue
        faults = [line for line in lines if line.fault]
        if len(faults) == len(lines):
            unread.append(f"'{path}' holds no records of tutti ({faults[0].error()}); use a file written by --json")
            continue
        new = database.import_lines(into, path, lines)
        torn = sum(line.is_torn for line in faults)
        print(f"{path}: {len(lines) - len(faults)} records, {new} new" +
              (f"; left out: {torn} torn, {len(faults) - torn} foreign lines" if faults else ""))
        for line in faults[:3]:
            print(f"results: warning: {line.error()}", file=sys.stderr)
    if unread:
        raise ResultsError("; ".join(unread))


def list_sessions(options):
    """the sessions with their launches and points"""
    rows = database.open_to_read(options.db).execute(
        "SELECT session, t, git, argv, (SELECT count(*) FROM launches l WHERE l.session = s.session),"
        " (SELECT count(*) FROM records p WHERE p.session = s.session AND p.kind IN ('point', 'step', 'pair')),"
        " (SELECT count(*) FROM fails f WHERE f.session = s.session) FROM sessions s ORDER BY t")
    print_table(["session", "begin", "git", "launches", "points", "fails", "command"],
                [(session, (t or "")[:19], git, launches, points, fails, _command(argv))
                 for session, t, git, argv, launches, points, fails in rows])


def show(options):
    """a session by the beginning of its ID, or a point in all launches by its id"""
    name = options.words[0]
    of = database.open_to_read(options.db)
    sessions = [row[0] for row in of.execute("SELECT DISTINCT session FROM records WHERE substr(session, 1, length(?1)) = ?1",
                                             (name,))]
    if len(sessions) > 1:
        raise ResultsError(f"{len(sessions)} sessions begin with '{name}': {' '.join(sessions[:4])}; use a longer ID")
    if sessions:
        return _show_session(of, sessions[0])
    points = of.execute(f"SELECT {SHOWN} FROM points WHERE point = ? ORDER BY t", (name,))
    rows = points.fetchall()
    if not rows:
        raise ResultsError(f"no session and no point is called '{name}'; see: tutti results list --db {options.db}")
    return print_table([column[0] for column in points.description], rows)


def _show_session(of, session):
    for t, git, dirty, version, compiler, argv in of.execute(
            "SELECT t, git, dirty, version, compiler, argv FROM sessions WHERE session = ?", (session,)):
        for line in (f"session {session}", f"begin   {t}",
                     f"tutti   {version} {git or ''}{'+changes' if dirty else ''} {compiler or ''}", f"command {_command(argv)}"):
            command_line.say(line)
    for launch, t, nranks, ppn, host, cpu, machine, ok in of.execute(
            "SELECT l.launch, l.t, nranks, ppn, host, cpu_model, l.machine, e.ok FROM launches l"
            " LEFT JOIN ends e ON e.session = l.session AND e.launch = l.launch WHERE l.session = ? ORDER BY l.launch", (session,)):
        end = {None: "interrupted", 0: "wrong results", 1: "ended well"}[ok]
        command_line.say(f"launch  {launch}, {t}, {nranks} ranks, {ppn} a host, {host}, {cpu}, machine {(machine or '?')[:8]}, {end}")
    for phase, what in of.execute("SELECT phase, what FROM fails WHERE session = ?", (session,)):
        command_line.say(f"fail    {phase}: {what}")
    for view, columns in (("points", SHOWN), ("steps", "metric, nranks, hosts, substr(machine, 1, 8) AS machine, t, git, step_ns, exposed_ns, overlap, check_state, skipped"),
                          ("verdicts", "metric, verdict, ratio, low, high, p, noise, mde, n_launch")):
        found = of.execute(f"SELECT {columns} FROM {view} WHERE session = ? ORDER BY id", (session,))
        if rows := found.fetchall():
            print(f"\n{view}")
            print_table([column[0] for column in found.description], rows)


def query(options):
    """prints what an SQL statement finds, or the points for which a condition holds"""
    print_table(*_found(options, SHOWN))


def export(options):
    """writes what a query finds, or all points, as a table in CSV ('-': to stdout) or Parquet"""
    names, rows = _found(options, EXPORTED)
    for form, write in FORMS.items():
        if file := getattr(options, form):
            write(names, rows, file)
            if file != "-":
                print(f"{file}: {len(rows)} rows")


def _write_csv(names, rows, file):
    with open(sys.stdout.fileno() if file == "-" else file, "w", newline="", encoding="utf-8", closefd=file != "-") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def _write_parquet(names, rows, file):
    try:
        import pyarrow  # only here: Debian has no package of it
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise ResultsError(f"no Python module pyarrow in {sys.executable}, which --parquet needs; use --csv FILE, or TUTTI_PYTHON with "
                           "a Python that has it (pip install pyarrow)") from None
    arrays = [_typed(pyarrow, name, [row[i] for row in rows]) for i, name in enumerate(names)]
    with open(file, "wb") as stream:
        parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), stream)


def _typed(pyarrow, name, values):
    """An array of one type, the same in files with and without values: what has a unit is a float."""
    types = {type(value) for value in values} - {type(None)}
    if types <= {int, float} and (float in types or re.search("_(ns|GBps|J)$", name)):
        return pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
    if types == {int}:
        return pyarrow.array(values, pyarrow.int64())
    return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())


def records(options):
    """prints the records of the metrics with these words as JSON Lines, for tutti history"""
    for line in database.records(database.open_to_read(options.db), without_place(options.words[0].lower()).split()):
        print(line)


def _found(options, columns):
    """Returns names and rows; a condition selects points."""
    asked = options.words[0] if options.words else "1"
    if not STATEMENT.match(asked):
        asked = f"SELECT {columns} FROM points WHERE ({SIZE.sub(_bytes, asked)})"
    try:
        found = database.open_to_read(options.db).execute(asked)
        return [column[0] for column in found.description], found.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise ResultsError(f"invalid query: {error}; use e.g. {EXAMPLE}") from None


def _bytes(match):
    """Replaces 1M by 1048576, except within strings."""
    return str(int(match[1]) << 10 * (1 + "KMGT".index(match[2]))) if match[1] else match[0]


def _command(argv):
    return shlex.join(json.loads(argv)) if argv else ""


def print_table(names, rows):
    texts = [["" if value is None else f"{value:.6g}" if isinstance(value, float) else in_line(value) for value in row]
             for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts)]
    to_right = [any(isinstance(row[i], (int, float)) for row in rows) for i in range(len(names))]
    for text in [names, *texts]:
        command_line.say("  ".join(f"{word:>{width}}" if right else f"{word:<{width}}"
                                   for word, width, right in zip(text, widths, to_right)).rstrip())


# The function of each option of export.
FORMS = {"csv": _write_csv, "parquet": _write_parquet}
# The function of each verb, and the range of its number of arguments.
VERBS = {"import": (import_files, 1, 1 << 20), "list": (list_sessions, 0, 0), "show": (show, 1, 1), "query": (query, 1, 1),
         "export": (export, 0, 1), "records": (records, 1, 1)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
