# SPDX-License-Identifier: Apache-2.0
"""Reads results files (JSON Lines, schema version 1)."""

import json
from dataclasses import dataclass, field

from . import schema

SCHEMA_VERSION = 1
SHELVES = {"session": "sessions", "launch": "launches", "point": "points", "step": "steps", "partial_step": "steps",
           "fail": "fails", "end": "ends"}


class ReportError(Exception):
    """What was asked cannot be done; the text is one line for the user."""


@dataclass
class Results:
    """All files together, each kind in the order of the files."""

    sessions: list = field(default_factory=list)
    launches: list = field(default_factory=list)
    points: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    fails: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    warnings: list = field(default_factory=list)

    def launch_count(self):
        """How many launches the measured points and steps come from: the unit of repetition."""
        return len({launch_of(one) for one in self.points + self.steps if not one.get("skipped")})


def launch_of(record):
    return record["file"], record.get("session") or "", record["launch"]


def read(paths):
    results = Results()
    for path in paths:
        _read_file(path, results)
    results.steps = _without_replaced(results.steps)
    if not results.points and not results.steps:
        raise ReportError(f"{' '.join(map(str, paths))}: no point in it, so there is nothing to report")
    return results


def _without_replaced(steps):
    """A training run writes its steps again and again until it ends; the last record of each counts."""
    def place(step):
        return launch_of(step), json.dumps(step["key"], sort_keys=True)

    last = {place(step): number for number, step in enumerate(steps)}
    return [step for number, step in enumerate(steps) if not step.get("partial") or last[place(step)] == number]


def _read_file(path, results):
    try:
        with open(path, "rb") as stream:
            lines = stream.read().split(b"\n")
    except OSError as error:
        raise ReportError(f"cannot read '{path}': {error.strerror}") from None
    if lines == [b""]:
        raise ReportError(f"'{path}' is empty: no results in it")
    tail = lines.pop()  # what follows the last newline: nothing, unless the writer was interrupted
    for number, line in enumerate(lines, start=1):
        _shelve(_parse(path, number, line), path, number, results)
    if not tail:
        return
    try:
        record = _parse(path, len(lines) + 1, tail)
    except _NotJson as error:
        if not lines:
            raise
        results.warnings.append(f"{error}: the last line is torn (the writer was interrupted) and left out")
    else:
        _shelve(record, path, len(lines) + 1, results)


class _NotJson(ReportError):
    pass


def _parse(path, number, line):
    try:
        record = json.loads(line)
    except ValueError:
        raise _NotJson(f"{path}:{number}: not JSON") from None
    if not isinstance(record, dict) or "v" not in record:
        raise ReportError(f'{path}:{number}: not a tutti record (no "v")')
    if record["v"] != SCHEMA_VERSION:
        raise ReportError(f"{path}:{number}: written in schema version {record['v']}; "
                          f"this report reads version {SCHEMA_VERSION}")
    return record


def _shelve(record, path, number, results):
    if fault := schema.fault(record):
        raise ReportError(f"{path}:{number}: {fault}")
    shelf = SHELVES.get(record.get("kind"))
    if shelf:  # a newer tutti may write more kinds
        record["file"] = str(path)
        getattr(results, shelf).append(record)
