# SPDX-License-Identifier: Apache-2.0
"""The records of results files, each kind by itself."""

import re
from dataclasses import dataclass, field

from tutti.lines import ResultsError, good_lines, launch_of, name_runs, with_lower_limits, without_replaced

from . import schema

SHELVES = {"session": "sessions", "launch": "launches", "point": "points", "step": "steps", "partial_step": "steps",
           "fail": "fails", "end": "ends", "lower_limits": "lower_limits"}


@dataclass
class Results:
    """All files together, each kind in the order of the files."""

    files: list = field(default_factory=list)
    sessions: list = field(default_factory=list)
    launches: list = field(default_factory=list)
    points: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    fails: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    lower_limits: list = field(default_factory=list)  # which the points have already
    warnings: list = field(default_factory=list)
    selection: str = ""  # in words, where only some of the records were taken

    def launch_count(self):
        """How many launches the measured points and steps come from: the unit of repetition."""
        return len({launch_of(one) for one in self.points + self.steps if not one.get("skipped")})

    def measured(self):
        return [point for point in self.points if is_good(point)]


def read(paths):
    results = Results(files=[str(path) for path in paths])
    for path in paths:
        for line in good_lines(path, results.warnings):
            _shelve(line, results)
    results.points = with_lower_limits(results.points, results.lower_limits)
    for shelf in set(SHELVES.values()):
        name_runs(results.sessions, getattr(results, shelf))
    results.points, results.steps = without_replaced(results.points), without_replaced(results.steps)
    if not results.points and not results.steps:
        raise ResultsError(f"{' '.join(map(str, paths))}: no point in it, so there is nothing to report")
    return results


def is_wrong(point):
    return not point.get("skipped") and point["check"]["state"] == "fail"


def is_good(point):
    """Whether its time counts: measured, and not of a wrong result."""
    return not point.get("skipped") and not is_wrong(point)


# Signs that no XML may hold, or halves of one: only a line with an escape (or with the few that need none) can have them.
_MAY_HOLD_ODD = re.compile(r"\\[ubf]|[\x7f\ufffe\uffff]")
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def _plain(value):
    if isinstance(value, str):
        return _ODD.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_plain(name): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _shelve(line, results):
    if fault := schema.fault(line.record):
        raise ResultsError(f"{line.file}:{line.number}: {fault}")
    shelf = SHELVES.get(line.record["kind"])
    if shelf:  # a newer tutti may write more kinds
        record = _plain(line.record) if _MAY_HOLD_ODD.search(line.text) else line.record
        record.pop("samples_ns", None)  # of --raw: nothing here draws them, and they fill the memory
        record["file"] = line.file
        getattr(results, shelf).append(record)
