# SPDX-License-Identifier: Apache-2.0
"""An SQLite index over results files: each record once, with its JSON, and a view of columns for each kind.

docs/reference/results_file.md describes the schema. A change of it is a new SCHEMA."""

import contextlib
import datetime
import hashlib
import json
import os
import sqlite3
from pathlib import Path

from .columns import COLUMNS, OLD_COLUMNS, sql_of
from .lines import ResultsError
from .names import key_id, metric_of, short_hash

SCHEMA = 1  # PRAGMA user_version
APPLICATION = 0x74747469  # PRAGMA application_id: "ttti"

TABLES = """
CREATE TABLE files(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL, imported TEXT NOT NULL,
    records INTEGER NOT NULL, torn INTEGER NOT NULL, foreign_lines INTEGER NOT NULL);
CREATE TABLE records(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, session TEXT NOT NULL, launch INTEGER, key TEXT, metric TEXT,
    sha256 TEXT NOT NULL UNIQUE, file INTEGER NOT NULL REFERENCES files(id), line INTEGER NOT NULL, json TEXT NOT NULL,
    t TEXT AS (json_extract(json, '$.t')) STORED,
    git TEXT AS (json_extract(json, '$.tool.git')) STORED,
    machine TEXT AS (json_extract(json, '$.topo_sha256')) STORED);
CREATE INDEX records_by_place ON records(session, launch, kind);
CREATE INDEX records_by_metric ON records(metric, kind);
"""
# A training run writes its steps again and again until it ends, also after it was resumed; the last record of each counts.
KEPT_STEPS = """WITH RECURSIVE parts(session, run, before) AS (
    SELECT session, session, json_extract(json, '$.resume_of') FROM records
        WHERE metric IS NULL AND kind = 'session' AND json_extract(json, '$.resume_of') IS NOT NULL
    UNION SELECT parts.session, first.session, json_extract(first.json, '$.resume_of') FROM parts
        JOIN records first ON first.session = parts.before AND first.launch IS NULL AND first.kind = 'session'),
runs AS (SELECT session, run FROM parts WHERE NOT EXISTS (
    SELECT 1 FROM records first WHERE first.session = parts.before AND first.launch IS NULL AND first.kind = 'session')),
kept AS (SELECT id FROM (
    SELECT records.id, records.kind, records.session, last_value(records.id) OVER same AS last,
        last_value(records.session) OVER same AS last_session FROM records LEFT JOIN runs ON runs.session = records.session
        WHERE records.kind IN ('step', 'partial_step')
        WINDOW same AS (PARTITION BY coalesce(runs.run, records.session), records.launch, coalesce(records.key, records.id)
                        ORDER BY records.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
    WHERE id = last OR kind = 'step' AND session = last_session) """
# Limits that were measured again at the end of a launch, by the id of the point; with max() the other columns are those of its row.
LOWERED = """ LEFT JOIN (
    SELECT session, launch, one.key AS point, one.value AS limit_ns, max(records.id) FROM records, json_each(records.json, '$.limit_ns') one
        WHERE metric IS NULL AND kind = 'lower_limits' AND one.type IN ('integer', 'real') GROUP BY session, launch, one.key) lowered
    ON lowered.session = records.session AND lowered.launch = records.launch AND json_extract(records.json, '$.limit_ns') <> 0
        AND lowered.point = json_extract(records.json, '$.point')"""
LOWERED_COLUMNS = {"limit_ns": "lowered.limit_ns",
                   "pct_of_limit": "round(100.0 * lowered.limit_ns / max(json_extract(records.json, '$.t_ns.p50'), 1), 1)"}
KINDS = {"sessions": "session", "launches": "launch", "points": "point", "steps": "step", "pairs": "pair",
         "verdicts": "verdict", "fails": "fail", "ends": "end", "limits": "limits"}
# Older versions named metrics without ranks and hosts.
OLD_NAMES = """kind IN ('point', 'step', 'partial_step') AND metric NOT GLOB '*, [0-9]* rank*' AND json_extract(json, '$.key.nranks') > 0"""
# Columns of every view; a record without them has those of its launch and session.
HEADS = ("id", "session", "launch", "t", "git", "machine", "metric")


def open_to_write(path):
    """A connection whose schema is there."""
    database = _connected(path, "rwc")
    with _refusing(path), database:
        database.execute("BEGIN IMMEDIATE")  # only one of several processes creates it
        if _pragma(database, "user_version") == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone():
            for statement in [*TABLES.split(";"), f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {SCHEMA}"]:
                database.execute(statement)
        _refuse_another(database, path)
        for name, view in _stale_views(database):
            database.execute(f"DROP VIEW IF EXISTS {name}")
            database.execute(f"CREATE VIEW {view}")
        _rename_metrics(database)
    return database


def open_to_read(path):
    if not Path(path).exists():
        raise ResultsError(f"'{path}' does not exist; create it: tutti results import FILES --db {path}")
    database = _connected(path, "ro")
    with _refusing(path), database:  # ends the transaction, which would keep others from writing
        _refuse_another(database, path)
        views = [view for _, view in _stale_views(database)]
        if database.execute(f"SELECT 1 FROM records WHERE {OLD_NAMES}").fetchone():  # the file itself changes at the next import
            database.execute("CREATE TEMP TABLE records AS SELECT * FROM main.records")
            _rename_metrics(database)
            views = map(_view, COLUMNS)
        for view in views:
            database.execute(f"CREATE TEMP VIEW {view}")
    return database


def _rename_metrics(database):
    """Gives points and steps that an older version imported the names of this one."""
    old = database.execute(f"SELECT id, json FROM records WHERE {OLD_NAMES}").fetchall()
    database.executemany("UPDATE records SET metric = ? WHERE id = ?", [(_text(metric_of(json.loads(text))), place) for place, text in old])


def import_lines(database, path, lines):
    """Adds the records of a file that are not there yet; how many these are."""
    good = [line for line in lines if not line.fault]
    torn = sum(line.is_torn for line in lines)
    content = hashlib.sha256("\n".join(line.text for line in lines).encode()).hexdigest()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    with _refusing("the database"), database:
        database.execute(
            "INSERT INTO files(path, sha256, imported, records, torn, foreign_lines) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(path) DO UPDATE SET sha256 = excluded.sha256, imported = excluded.imported, records ="
            " excluded.records, torn = excluded.torn, foreign_lines = excluded.foreign_lines WHERE sha256 <> excluded.sha256",
            (os.path.abspath(path), content, now, len(good), torn, len(lines) - len(good) - torn))
        file, = database.execute("SELECT id FROM files WHERE path = ?", (os.path.abspath(path),)).fetchone()
        before = database.total_changes
        # Records without a session are told from those of other files by the file's first line.
        anonymous = f"file-{short_hash(lines[0].text)}"
        database.executemany(
            "INSERT OR IGNORE INTO records(kind, session, launch, key, metric, sha256, file, line, json)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (_row(line, file, anonymous) for line in good))
        return database.total_changes - before


def records(database, words):
    """Yields the records of metrics with all of these words in their names, as JSON, and all sessions, launches and verdicts. If no metric
    has them, one record of each metric."""
    has = " AND ".join(["instr(lower(metric), ?) > 0"] * len(words)) or "1"
    measured = "kind IN ('point', 'step', 'partial_step', 'pair')"
    if not database.execute(f"SELECT 1 FROM records WHERE {measured} AND {has}", words).fetchone():
        has, words = "id IN (SELECT min(id) FROM records GROUP BY metric)", []
    # A record without a session has that of the column.
    for text, in database.execute(
            "SELECT CASE WHEN kind = 'session' OR json_extract(json, '$.session') IS NOT NULL THEN json"
            f" ELSE json_insert(json, '$.session', session) END FROM records WHERE kind IN ('session', 'launch', 'verdict')"
            f" OR {measured} AND {has} ORDER BY id", words):
        yield text


def _row(line, file, anonymous):
    record = line.record
    session = _text(record.get("id" if record["kind"] == "session" else "session") or anonymous)
    launch = record.get("launch")
    try:
        key, metric = key_id(record), metric_of(record)
    except (KeyError, TypeError, AttributeError):  # fields as only another version writes them
        key, metric = None, None
    same = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return (_text(record["kind"]), session, launch if isinstance(launch, int) and 0 <= launch < 1 << 31 else None, _text(key),
            _text(metric), hashlib.sha256(f"{session}\n{same}".encode()).hexdigest(), file, line.number, line.text)


def _text(value):
    """Makes a text that SQLite accepts: without halves of surrogate pairs."""
    return None if value is None else str(value).encode("utf-8", "replace").decode()


def _stale_views(database):
    """(name, what to create) of the views that are not there as this tutti has them."""
    stored = dict(database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
    return [(name, _view(name)) for name in COLUMNS if stored.get(name) != f"CREATE VIEW {_view(name)}"]


def _view(name):
    """points AS ..., with the columns of COLUMNS."""
    before = KEPT_STEPS if name == "steps" else ""
    kinds = "records.id IN (SELECT id FROM kept)" if name == "steps" else f"records.kind = '{KINDS[name]}'"
    heads = {"t": "coalesce(records.t, launch.t, session.t)", "git": "coalesce(records.git, session.git)",
             "machine": "coalesce(records.machine, launch.machine)"}
    columns = [f"{heads.get(head, 'records.' + head)} AS {head}" for head in HEADS]
    own = {column: sql_of(path) for column, path in (COLUMNS[name] | OLD_COLUMNS.get(name, {})).items() if column not in HEADS}
    if name == "points":
        own |= {column: f"coalesce({again}, {own[column]})" for column, again in LOWERED_COLUMNS.items()}
    columns += [f'{text} AS "{column}"' for column, text in own.items()]
    return (f"{name} AS {before}SELECT {', '.join(columns)}, records.json AS json FROM records"
            " LEFT JOIN records launch ON launch.session = records.session AND launch.launch = records.launch"
            " AND launch.kind = 'launch'"
            " LEFT JOIN records session ON session.session = records.session AND session.launch IS NULL"
            f" AND session.kind = 'session'{LOWERED if name == 'points' else ''} WHERE {kinds}")


def _connected(path, mode):
    try:
        return sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode={mode}", uri=True, timeout=10)
    except sqlite3.Error as error:
        raise ResultsError(f"cannot open '{path}': {error}") from None


def _pragma(database, name):
    return database.execute(f"PRAGMA {name}").fetchone()[0]


def _refuse_another(database, path):
    if _pragma(database, "application_id") != APPLICATION:
        raise ResultsError(f"'{path}' is not a database of results; use another file with --db")
    schema = _pragma(database, "user_version")
    if schema > SCHEMA:
        raise ResultsError(f"'{path}' has schema version {schema}, and this tutti knows versions up to {SCHEMA}; use a "
                           "newer tutti, or import the files into another --db")


@contextlib.contextmanager
def _refusing(path):
    try:
        yield
    except sqlite3.Error as error:
        hint = "use another file for --db" if "not a database" in str(error) else "is another program writing it?"
        raise ResultsError(f"cannot use '{path}': {error}; {hint}") from None
