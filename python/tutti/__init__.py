# SPDX-License-Identifier: Apache-2.0
"""Collectives of Python programs, and results files of tutti.

    import tutti                                     # with python/ in PYTHONPATH
    with tutti.Communicator.over_mpi() as ranks:     # or over_rendezvous, from_environment
        ranks.all_reduce(array)

    points = tutti.read(["monday.jsonl", "tuesday.jsonl"])     # a pandas DataFrame, one row for each point
    points[points.skipped.isna()].groupby(["machine", "metric", "mode"]).p50_ns.median()

    for record in tutti.records("monday.jsonl"):     # dicts, as in the file; works without pandas
        print(record["kind"], record["file"])
"""

import importlib
import math
import os
import warnings
from typing import TYPE_CHECKING

from .columns import COLUMNS, LEAST_CALLS, value_at
from .lines import ResultsError, good_lines, settled
from .names import metric_of

if TYPE_CHECKING:
    from .communicator import IN_PLACE, Communicator, Op, PreparedCall, Request
    from .library import TuttiError

# Names that need the library, by module. It is loaded when one is used first, because results can be read without it.
LAZY = {**dict.fromkeys(("IN_PLACE", "Communicator", "Op", "PreparedCall", "Request"), "communicator"), "TuttiError": "library"}

__all__ = ["IN_PLACE", "Communicator", "Op", "PreparedCall", "Request", "ResultsError", "TuttiError", "median_interval", "read", "records"]


def __getattr__(name):
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module("." + LAZY[name], __name__), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})


def records(files, fault=None):
    """The records of one file or several as dicts, in the order of the files, each with its "file".

    Points and steps that a later record replaces are left out, and points have the limits that a later record gives them. Of a
    run that was resumed the later parts have the session of the first in "begun_as". A torn last line becomes a warning; a line
    that is no record raises ResultsError, which names the file and the line, as does one of which `fault(record)` says something."""
    found = []
    for file in _list_of(files):
        said = []
        for line in good_lines(file, said):
            if wrong := fault and fault(line.record):
                raise ResultsError(f"{line.file}:{line.number}: {wrong}")
            found.append(line.record | {"file": str(file)})
        for text in said:
            warnings.warn(text, stacklevel=2)
    return settled(found)


def read(files):
    """Returns the points of one or more files as a pandas DataFrame, one row for each point.

    Columns: file, session, launch, t (when the launch began), git, machine (its fingerprint), metric (as `tutti compare`
    names it: points of one metric on one machine with one mode repeat each other), and those of `points` in docs/reference/results_file.md.
    Values that a point lacks are NaN."""
    import pandas  # only here: everything else works without it

    rows, launches, commits = [], {}, {}
    for one in records(files):
        place = one["file"], one.get("session"), one.get("launch")
        if one["kind"] == "session":
            commits[one["file"], one["id"]] = one["tool"].get("git")
        elif one["kind"] == "launch":
            launches[place] = one
        elif one["kind"] == "point":
            launch = launches.get(place, {})
            rows.append({"file": one["file"], "session": one.get("session"), "launch": one["launch"], "t": launch.get("t"),
                         "git": commits.get(place[:2]), "machine": launch.get("topo_sha256"), "metric": metric_of(one),
                         **{name: value_at(one, path) for name, path in COLUMNS["points"].items()}})
    heads = ["file", "session", "launch", "t", "git", "machine", "metric", *COLUMNS["points"]]
    table = pandas.DataFrame(rows, columns=heads)
    table["t"] = pandas.to_datetime(table["t"], utc=True)
    return table


def median_interval(values):
    """Returns the 95 % interval (low, high) of the median of `values`, one for each launch. As in all outputs of tutti, its ends are
    order statistics, which assume no distribution. Fewer than six values have no interval: (nan, nan)."""
    ordered = sorted(values)
    count, reach = len(ordered), 1.96 * math.sqrt(len(ordered))
    if count < LEAST_CALLS:
        return math.nan, math.nan
    low, high = math.floor((count - reach) / 2), math.ceil(1 + (count + reach) / 2)
    return ordered[max(low, 1) - 1], ordered[min(high, count) - 1]


def _list_of(files):
    return [files] if isinstance(files, (str, bytes, os.PathLike)) else files
