# SPDX-License-Identifier: Apache-2.0
"""Summarises records as one row for each collective, rank count, input, kind of memory and size."""

import math

from plots.records import is_good, is_wrong, launch_of

from .plan import INPUTS
from .settings import DEFAULT, expected, setting_of

MEMORY = {"registered": "registered", "host": "unregistered"}  # names in records and of --buffers


def summarise(results):
    """Returns comparison records: the best of ours, the library's default and its best."""
    groups = {}
    for point in results.points:
        key = point["key"]
        group = (key["coll"], key["nranks"], key.get("input") or INPUTS[0], MEMORY.get(key.get("buf"), key.get("buf")),
                 key["bytes"])
        groups.setdefault(group, {}).setdefault(launch_of(point), []).append(point)
    settings = {launch_of(launch): setting_of(launch).name for launch in results.launches}
    wanted = expected(results.launches)
    return [_over_settings([_of_launch(group, settings.get(launch, DEFAULT.name), points)
                            for launch, points in launches.items()], wanted) for group, launches in groups.items()]


def undisturbed(rows):
    """Returns the rows that goals and means use."""
    return [row for row in rows if not row.get("disturbed")]


def _over_settings(rows, wanted):
    """Returns the launch with the library's best ratio; both times of a ratio are from one launch."""
    compared = [row for row in rows if "ratio_to_best" in row]
    best = min(undisturbed(compared) or compared or rows, key=lambda row: row.get("ratio_to_best", math.inf))
    unasked = next((row for row in rows if row["setting"] == DEFAULT.name), {})
    ratios = {row["setting"]: row["ratio_to_best"] for row in compared}
    row = best | {"ratios": ratios, "library_default": unasked.get("library_default"),
                  "ratio_to_default": unasked.get("ratio_to_default"),
                  "disturbed": [row["setting"] for row in rows if row.get("disturbed")],
                  "missing": [name for name in wanted if name not in ratios]}
    return _said(row)


def _of_launch(group, setting, points):
    coll, nranks, state, memory, size = group
    measured = [point for point in points if is_good(point)]
    ours = [point for point in measured if point["key"]["impl"] == "tutti"]
    library = [point for point in measured if point["key"]["impl"] != "tutti"]
    default = [point for point in library if point["key"]["algo"] in ("", point["key"]["impl"])]
    first, best = points[0], _fastest(ours)
    return _said({
        "v": 1, "kind": "comparison", "session": first.get("session"), "launch": first["launch"],
        "coll": coll, "nranks": nranks, "input": state, "buffers": memory, "dtype": first["key"]["dtype"],
        "op": first["key"]["op"], "count": first["key"].get("count"), "bytes": size, "setting": setting,
        "ours": _figures(best), "library_default": _figures(_fastest(default)),
        "library_best": _figures(_fastest(library)),
        "ratio_to_best": _ratio(_fastest(library), best), "ratio_to_default": _ratio(_fastest(default), best),
        "limit_ns": best and best.get("limit_ns"), "pct_of_limit": best and best.get("pct_of_limit"),
        "disturbed": any(point["disturbed"] for point in measured) or None, "n_ours": len(ours), "n_library": len(library),
        "skipped": {candidate(point): point["skipped"] for point in points if point.get("skipped")},
        "wrong": [candidate(point) for point in points if is_wrong(point)]})


def _said(record):
    return {name: value for name, value in record.items() if value not in (None, {}, [])}


def candidate(point):
    key = point["key"]
    return "/".join(word for word in (key["impl"], key["algo"], key["transport"]) if word)


def _fastest(points):
    return min(points, key=lambda point: point["t_ns"]["p50"], default=None)


def _figures(point):
    if point is None:
        return None
    key = point["key"]
    return {"algo": key["algo"] or "default", "transport": key["transport"], "p50_ns": point["t_ns"]["p50"],
            "ci95_p50_ns": point.get("ci95_p50_ns"), "interval_ns": point["interval_ns"], "n": point["n"], "stop_reason": point.get("stop_reason")}


def _ratio(theirs, ours):
    """Returns the ratio of their times; None if one has no time."""
    if theirs is None or ours is None or not ours["t_ns"]["p50"]:
        return None
    return round(theirs["t_ns"]["p50"] / ours["t_ns"]["p50"], 6)


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None
