# SPDX-License-Identifier: Apache-2.0
"""What a section says, in one sentence that the intervals support."""

import math

from .units import counted, ratio_text, size_words

MPI_NAMES = {"all_reduce": "MPI_Allreduce", "reduce_scatter": "MPI_Reduce_scatter_block",
             "all_gather": "MPI_Allgather", "broadcast": "MPI_Bcast", "reduce": "MPI_Reduce",
             "scatter": "MPI_Scatter", "gather": "MPI_Gather", "all_to_all": "MPI_Alltoall"}
MOST_STRETCHES = 4


def finding(section):
    if not section.sizes:
        return "Nothing here was measured with a right result."
    clauses = [_clause(section, *stretch) for stretch in stretches(section)]
    if len(clauses) > MOST_STRETCHES:
        clauses = clauses[:MOST_STRETCHES] + ["then the lead changes further (see the heat map)"]
    clauses += filter(None, (_against(section, baseline) for baseline in section.baselines()))
    if section.wrong:
        clauses.append(f"left out for WRONG RESULTS: {counted(len(section.wrong), 'point')}")
    text = "; ".join(clauses) + "."
    return "The" + text[3:] if text.startswith("the ") else text  # names stay as they are typed


def stretches(section):
    """Neighbouring sizes at which one and the same candidate leads: [(leader, sizes)]. A leader is nowhere
    separably slower than the best; of several the one closest to the best speaks for the stretch."""
    found = []
    common, sizes = None, []
    for size in section.sizes:
        leaders = section.leaders(size)
        if common and common & leaders:
            common &= leaders
            sizes.append(size)
            continue
        if common:
            found.append((_closest(section, common, sizes), sizes))
        common, sizes = set(leaders), [size]
    return found + [(_closest(section, common, sizes), sizes)]


def _closest(section, candidates, sizes):
    return min(candidates, key=lambda candidate: (
        sum(math.log(section.ratio(candidate, size)) for size in sizes), candidate))


def _clause(section, leader, sizes):
    rivals = {}
    for size in sizes:
        for rival in section.leaders(size) - {leader}:
            rivals.setdefault(rival, []).append(size)
    where = _range(section, sizes)
    if len(section.candidates) == 1:
        return f"{name(section, leader)} was measured alone"
    if not rivals:
        return f"{name(section, leader)} is the fastest {where}"
    ranked = sorted(rivals, key=lambda rival: (-len(rivals[rival]), section.candidates.index(rival)))
    rival = ranked[0]
    at = "" if len(rivals[rival]) == len(sizes) else f" (at {', '.join(map(size_words, rivals[rival]))})"
    more = f" and {_others(len(ranked) - 1)}" if len(ranked) > 1 else ""
    return (f"{name(section, leader)} is among the fastest {where}, not separable from "
            f"{name(section, rival)}{at}{more}")


def _against(section, baseline):
    """Where a library loses most, if it loses anywhere."""
    lost = [size for size, _ in section.line(baseline) if baseline not in section.leaders(size)]
    if not lost:
        return None if len(section.candidates) == 1 else (
            f"{name(section, baseline)} is nowhere separably slower than the fastest")
    worst = max(lost, key=lambda size: (section.ratio(baseline, size), size))
    ratio = section.ratio(baseline, worst)
    much = f"{ratio_text(ratio)}x as long as" if ratio >= 1.1 else f"{100 * (ratio - 1):.1f} % longer than"
    return f"{name(section, baseline)} takes {much} the fastest at {size_words(worst)}"


def name(section, candidate):
    if not candidate.is_baseline:
        over = f" over {candidate.transport}" if candidate.transport else ""
        return candidate.label.replace(f" · {candidate.transport}", over)
    if candidate.impl == "mpi":
        extra = "" if candidate.is_default else f" ({candidate.algo})"
        return f"the library's own {MPI_NAMES.get(section.shape.coll, 'collective')}{extra}"
    return f"the library's own collective ({candidate.label})"


def _range(section, sizes):
    if len(sizes) == len(section.sizes) and len(sizes) > 1:
        return f"at all {len(sizes)} sizes"
    if len(sizes) == 1:
        return f"at {size_words(sizes[0])}"
    if sizes[-1] == section.sizes[-1]:
        return f"from {size_words(sizes[0])} on"
    if sizes[0] == section.sizes[0]:
        return f"up to {size_words(sizes[-1])}"
    return f"from {size_words(sizes[0])} to {size_words(sizes[-1])}"


def _others(count):
    return "another" if count == 1 else f"{count} others"
