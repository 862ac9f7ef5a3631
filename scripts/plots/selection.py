# SPDX-License-Identifier: Apache-2.0
"""Some of the records, as --candidates and --sizes ask."""

from dataclasses import replace

from tutti.lines import ResultsError

from .units import size_text


def select(results, candidates, sizes):
    """The results with only these; says so in `selection`."""
    if not candidates and not sizes:
        return results
    points = [point for point in results.points if _is_wanted(point["key"], candidates) and _is_in(point["key"]["bytes"], sizes)]
    steps = [step for step in results.steps if not candidates or any(word in step["key"]["way"] for word in candidates)]
    if not points and not (steps and results.steps):
        known = sorted({name for point in results.points for name in _names(point["key"])} - {""})
        raise ResultsError(f"nothing is left of {', '.join(candidates) or 'all candidates'} at the sizes asked for; the files have "
                           f"{', '.join(known[:12])}")
    said = ([f"the candidates {', '.join(candidates)}"] if candidates else []) + (
        ["the sizes " + ", ".join(_words(*one) for one in sizes)] if sizes else [])
    return replace(results, points=points, steps=steps, selection=" and ".join(said))


def _names(key):
    """What a candidate may be called: ring, ring/shm, shm; mpi, mpi/ring."""
    if key["impl"] == "tutti":
        return key["algo"], f"{key['algo']}/{key['transport']}", key["transport"]
    return key["impl"], f"{key['impl']}/{key['algo'] if key['algo'] not in ('', key['impl']) else 'default'}"


def _is_wanted(key, candidates):
    return not candidates or any(name in candidates for name in _names(key))


def _is_in(size, ranges):
    return not ranges or any(low <= size <= high for low, high in ranges)


def _words(low, high):
    return size_text(low) if low == high else f"{size_text(low)} to {size_text(high)}" if high < 1 << 62 else f"from {size_text(low)}"
