# SPDX-License-Identifier: Apache-2.0
"""Results files as `tutti show --json` summarises them: docs/reference/results_file.md has the fields."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tutti.lines import ResultsError

from .naming import Names

VERSION = 1  # version of the document


@dataclass(frozen=True)
class Ratio:
    """A ratio of times, or a time in ns, with its 95 % interval; low and high are None where that is unknown."""

    value: float
    low: float
    high: float
    launches: int
    significant: bool

    @property
    def is_known(self):
        return self.low is not None

    @property
    def half(self):
        """Half the interval over the value: 0.025 is +-2.5 %; None where that is unknown."""
        return (self.high - self.low) / 2 / self.value if self.is_known else None


def ratio_of(found):
    return Ratio(**found) if found else None


@dataclass(frozen=True)
class Note:
    """A condition of the measurement: a short mark, a sentence, what it leaves reliable (all, ranking, nothing), and why."""

    mark: str
    text: str
    leaves_reliable: str = "all"
    because: str = ""


def notes_of(found):
    return [Note(**note) for note in found]


@dataclass
class Results:
    """All files together; points and steps are the records, with what the summary adds to them."""

    files: list = field(default_factory=list)
    sessions: list = field(default_factory=list)
    launches: list = field(default_factory=list)
    points: list = field(default_factory=list)
    steps: list = field(default_factory=list)
    fails: list = field(default_factory=list)
    ends: list = field(default_factory=list)
    verdicts: list = field(default_factory=list)  # records of compare, one for each metric
    tables: list = field(default_factory=list)
    training: list = field(default_factory=list)
    setups: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    verdict: str = ""
    selection: str = ""  # in words, where only some of the records were taken
    names: Names = field(default_factory=Names)

    def launch_count(self):
        """How many launches the measured points and steps come from: the unit of repetition."""
        return len({launch_of(one) for one in self.points + self.steps if not one.get("skipped")})


def read(paths, candidates=(), sizes="", names=Names()):
    """The summary of these files, or of the candidates and sizes that are wanted; `names` are the reader's own."""
    paths = list(map(str, paths))
    words = ["show", "--json", *([f"--candidates={','.join(candidates)}"] if candidates else []), *([f"--sizes={sizes}"] if sizes else [])]
    try:
        done = subprocess.run([command(), *words, "--", *paths], capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise ResultsError(f"cannot run '{command()}': {error.strerror}; set TUTTI to the path of the command tutti") from None
    if done.returncode != 0:
        raise ResultsError(done.stderr.strip().removeprefix("tutti: ") or f"'tutti show' ended with code {done.returncode}")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise ResultsError(f"'{command()} show --json' printed no JSON; set TUTTI to the path of the command tutti") from None
    if found["v"] != VERSION:
        raise ResultsError(f"{command()} writes version {found['v']} of its summary, this script reads {VERSION}; use scripts of the same tutti")
    if not found["points"] and not found["steps"] and not found["verdicts"]:
        raise ResultsError(f"{' '.join(paths)}: no point in it, so there is nothing to report")
    files = {one["id"]: one["file"] for one in found["sessions"]}
    for kind, shelf in (("session", "sessions"), ("launch", "launches")):
        found[shelf] = [{"v": 1, "kind": kind} | one for one in found[shelf]]
    for one in found["points"] + found["steps"] + found["launches"] + found["ends"] + found["fails"]:
        one["file"] = files.get(one.get("session"), paths[0])
    said = [f"the candidates {', '.join(candidates)}"] * bool(candidates) + [f"the sizes {sizes}"] * bool(sizes)
    return Results(files=paths, notes=notes_of(found["notes"]), selection=" and ".join(said), names=names,
                   **{name: found.get(name, []) for name in ("sessions", "launches", "points", "steps", "fails", "ends", "verdicts", "tables", "training", "setups",
                                                     "verdict", "warnings")})


def command():
    """The tutti that computes: $TUTTI, as `tutti report` sets it, or one next to this tree or in the PATH."""
    built = Path(__file__).resolve().parents[2] / "build" / "tutti"
    found = os.environ.get("TUTTI") or (str(built) if os.access(built, os.X_OK) else shutil.which("tutti"))
    if not found:
        raise ResultsError("no tutti command found; set TUTTI to its path")
    return found


def launch_of(record):
    return record["file"], record.get("session") or "", record["launch"]


def is_wrong(point):
    return not point.get("skipped") and point["check"]["state"] == "fail"


def is_good(point):
    """Whether its time counts: measured, and not of a wrong result."""
    return not point.get("skipped") and not is_wrong(point)
