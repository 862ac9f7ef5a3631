# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of results files (JSON Lines, schema version 1): the one reader of all that is Python here."""

import codecs
import json
import re
from dataclasses import dataclass

from .printable import in_line

SCHEMA_VERSION = 1
MEASURED = ("point", "step", "partial_step")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class ResultsError(Exception):
    """A request that cannot be done; the text is one line for the user."""


@dataclass(frozen=True)
class Line:
    """One line of a file: its record, or the fault for which it is none."""

    file: str
    number: int
    text: str
    record: dict = None
    fault: str = ""
    is_torn: bool = False  # the last one, without an end: the writer was interrupted

    def error(self):
        return ResultsError(f"{self.file}:{self.number}: {self.fault}")


def lines_of(path):
    """Every line of a file. Raises ResultsError for a file that cannot be read or is empty; lines never raise."""
    try:
        with open(path, "rb") as stream:
            lines = _in_utf8(stream.read()).split(b"\n")
    except OSError as error:
        raise ResultsError(f"cannot read '{path}': {error.strerror}") from None
    if all(map(_is_blank, lines)):
        raise ResultsError(f"'{path}' is empty: no results in it")
    tail = lines.pop()  # text after the last newline: empty unless the writer was interrupted
    for number, line in enumerate(lines, start=1):
        if not _is_blank(line):
            yield _parsed(path, number, line, has_end=True)
    if not _is_blank(tail):
        yield _parsed(path, len(lines) + 1, tail, has_end=False)


def _in_utf8(content):
    """Converts UTF-16, as editors and shells of Windows write files, with or without a byte order mark."""
    has_mark = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    high_first = content[:1] == b"\0"
    if not has_mark and high_first == (content[1:2] == b"\0"):
        return content
    return content.decode("utf-16" if has_mark else "utf-16-be" if high_first else "utf-16-le", errors="replace").encode()


def _is_blank(line):
    """Editors and programs that join files leave blank lines, some with a byte order mark."""
    return not line.removeprefix(codecs.BOM_UTF8).strip(b" \t\r")


def _parsed(path, number, line, has_end):
    text = line.removeprefix(codecs.BOM_UTF8).removesuffix(b"\r").decode("utf-8", errors="replace")  # some editors write a byte order mark
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE.search(text):  # half of a pair is no character, neither to SQLite nor to a terminal
            text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode()
            record = json.loads(text)
    except (ValueError, RecursionError):
        return Line(str(path), number, text, fault="not JSON", is_torn=not has_end)
    return Line(str(path), number, text, record, _fault(record))


def _refuse_constant(name):
    raise ValueError(f"{name} is not valid JSON")  # NaN, Infinity: Python would take them


def _fault(record):
    if not isinstance(record, dict) or "v" not in record:
        return 'not a tutti record (no "v")'
    if record["v"] != SCHEMA_VERSION:
        return f"written in schema version {in_line(record['v'])}; this tutti reads version {SCHEMA_VERSION}"
    return "" if isinstance(record.get("kind"), str) else 'no field "kind"'


def good_lines(path, warnings):
    """The lines that are records. A torn last line becomes a warning, any other fault raises ResultsError."""
    any_good = False
    for line in lines_of(path):
        if line.fault and not (line.is_torn and any_good):
            raise line.error()
        if line.fault:
            warnings.append(f"{line.error()}: the last line is torn (the writer was interrupted) and left out")
            continue
        any_good = True
        yield line


def settled(records):
    """The records with their last limits, and without those that a later one replaces."""
    found = with_lower_limits(records, [one for one in records if one["kind"] == "lower_limits"])
    name_runs([one for one in found if one["kind"] == "session"], found)
    kept = set(map(id, without_replaced([one for one in found if one["kind"] in MEASURED])))
    return [one for one in found if one["kind"] not in MEASURED or id(one) in kept]


def name_runs(sessions, records):
    """Says in the records of a session that goes on with another's run which one began it, as both are of one launch."""
    first = {}
    for one in sessions:
        file, session, resumed = one["file"], one.get("id"), one.get("resume_of")
        if isinstance(session, str):
            first[file, session] = first.get((file, resumed), session) if isinstance(resumed, str) else session
    begun_as = {part: begun for part, begun in first.items() if begun != part[1]}
    for record in records if begun_as else ():
        if begun := begun_as.get((record["file"], record.get("session"))):
            record["begun_as"] = begun


def run_of(record):
    """The session that began it, None where the record says none."""
    return record.get("begun_as") or record.get("session")


def launch_of(record):
    return record["file"], run_of(record) or "", record.get("launch")


def without_replaced(measured):
    """A training run writes its steps again and again until it ends, and a run that was resumed measures some points and steps
    again; the last record of each counts."""
    resumed = {launch_of(one) for one in measured if "begun_as" in one}

    def place(one):
        """None of what nothing replaces."""
        launch = launch_of(one)
        return (launch, json.dumps(one.get("key"), sort_keys=True)) if one["kind"] != "point" or launch in resumed else None

    places = list(map(place, measured))
    last = dict(zip(places, measured))
    return [one for one, here in zip(measured, places) if here is None or one is last[here]
            or not one.get("partial") and one.get("session") == last[here].get("session")]


def with_lower_limits(points, lower_limits):
    """The points, with the limits that were measured again at the end of their launch, as some had beaten theirs."""
    limits = {(launch_of(record), point): limit for record in lower_limits if isinstance(record.get("limit_ns"), dict)
              for point, limit in record["limit_ns"].items() if isinstance(limit, (int, float))}
    return [_with_limit(point, limits.get((launch_of(point), point.get("point")))) for point in points] if limits else points


def _with_limit(point, limit):
    if limit is None or not point.get("limit_ns"):
        return point
    return point | {"limit_ns": limit, "pct_of_limit": round(100 * limit / max(point["t_ns"]["p50"], 1), 1)}
