# SPDX-License-Identifier: Apache-2.0
"""Where a series of numbers changes its distribution: E-divisive (Matteson and James 2014, J. Am. Stat. Assoc. 109).

Two parts of a series differ by their energy distance: how far values of one are from values of the other, less how far
values of each are from each other. The best place to cut a segment is where this is largest; whether it is more than
chance is asked of the same series in random orders. Cuts are made one after another until one is no more than chance."""

from dataclasses import dataclass

import numpy

LEAST = 3  # values on each side of a change


@dataclass(frozen=True)
class ChangePoint:
    """The first value after a change, and in how many of all random orders there is one as clear."""

    first: int
    p: float


def change_points(values, level=0.01, permutations=499, seed=1):
    """The change points of a series, in its order."""
    distances = numpy.abs(numpy.subtract.outer(values, values))
    random = numpy.random.default_rng(seed)
    cuts, found = [0, len(values)], []
    while True:
        segments = list(zip(cuts, cuts[1:]))
        clearest, first = max(_best_cut(distances, segment) for segment in segments)
        if not first:
            break  # every segment is too short
        p = _chance(distances, segments, clearest, level, permutations, random)
        if p > level:
            break
        found.append(ChangePoint(first, p))
        cuts = sorted([*cuts, first])
    return sorted(found, key=lambda change: change.first)


def _chance(distances, segments, clearest, level, permutations, random):
    """The share of random orders within the segments whose best cut is as clear, given up once it is above the level."""
    as_clear = 1  # the series itself
    for _ in range(permutations):
        order = numpy.concatenate([random.permutation(numpy.arange(*segment)) for segment in segments])
        shuffled = distances[numpy.ix_(order, order)]
        as_clear += max(_best_cut(shuffled, segment)[0] for segment in segments) >= clearest
        if as_clear > level * (permutations + 1):
            return 1.0
    return as_clear / (permutations + 1)


def _best_cut(distances, segment):
    """(how clear it is, the first value after it) of the best cut of a segment; (0, 0) where it is too short.

    The part after the cut may end before the segment does, as what comes later may be another change."""
    begin, end = segment
    size = end - begin
    if size < 2 * LEAST:
        return 0.0, 0
    # sums[i, j]: the distances between the first i and the first j values.
    sums = numpy.zeros((size + 1, size + 1))
    sums[1:, 1:] = distances[begin:end, begin:end].cumsum(0).cumsum(1)
    to_itself = numpy.diagonal(sums)
    cut = numpy.arange(LEAST, size - LEAST + 1)[:, None]  # values before
    last = numpy.arange(2 * LEAST, size + 1)[None, :]     # values before and after together
    behind = last - cut
    across = sums[cut, last] - to_itself[cut]
    within_before = to_itself[cut]
    within_behind = to_itself[last] - 2 * sums[cut, last] + to_itself[cut]
    with numpy.errstate(divide="ignore", invalid="ignore"):
        clear = (2 * across / (cut * behind) - within_before / (cut * (cut - 1)) - within_behind / (behind * (behind - 1)))
        clear = numpy.where(behind >= LEAST, clear * cut * behind / last, -numpy.inf)
    best = numpy.unravel_index(numpy.argmax(clear), clear.shape)
    return float(clear[best]), begin + int(cut[best[0], 0])
