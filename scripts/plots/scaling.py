# SPDX-License-Identifier: Apache-2.0
"""How times grow with the number of ranks, at a small and at a large size."""

from collections import defaultdict
from dataclasses import replace

from . import curves
from .curves import Curve, Plot
from .drawing import Drawing
from .over_size import mark_of
from .reliability import is_doubted, merged
from .shapes import slug_of
from .units import counted, nearest_sizes, size_text, time_text

AT_SIZES = (4 << 10, 1 << 20)
MOST_LINES = 4
ONE_HOST = "one host"  # instead of the ranks on each host; 0: unknown


def drawings(sections):
    """Two figures of each family of sections that differ in the number of ranks alone."""
    families = defaultdict(list)
    for section in sections:
        shape = section.shape
        # On one host, or on ever more hosts with as many ranks each: not both in one line.
        families[shape.family("nranks", "ppn"), ONE_HOST if shape.nranks == shape.ppn else shape.ppn].append(section)
    found = []
    for (family, on_each), members in families.items():
        if len({section.shape.nranks for section in members}) < 2:
            continue
        common = sorted(set.intersection(*(set(section.sizes) for section in members)))
        found += [_drawing(family, on_each, members, size) for size in nearest_sizes(common, AT_SIZES)]
    return [drawing for drawing in found if drawing]


def _drawing(family, on_each, members, size):
    by_candidate = defaultdict(list)
    for section in sorted(members, key=lambda section: section.shape.nranks):
        for candidate in section.candidates:
            if section.cell(candidate, size):
                mark = mark_of(section, candidate, size, lambda time: time / 1000)
                by_candidate[candidate].append(replace(mark, x=section.shape.nranks))
    whole = {candidate: marks for candidate, marks in by_candidate.items() if len(marks) > 1}
    if not whole:
        return None
    own = sorted((one for one in whole if not one.is_baseline), key=lambda one: (-len(whole[one]), sum(mark.value for mark in whole[one])))
    shown = own[:MOST_LINES] + [section.library for section in members[:1] if section.library in whole]
    plot = Plot("time of one call (µs)", lambda mark: f"{counted(int(mark.x), 'rank')}: {time_text(mark.value * 1000)}",
                x_label="ranks", log_y=True, size_axis=False, height=3.3,
                is_doubted=any(map(is_doubted, members)))
    plot.curves = [Curve(candidate, candidate.name, whole[candidate], in_front=candidate in shown)
                   for candidate in sorted(whole, key=lambda one: (shown + [one]).index(one))]
    where = "on one host" if on_each == ONE_HOST else f"{counted(on_each, 'rank')} on each host" if on_each else ""
    points = [point for section in members for point in section.points if point["key"]["bytes"] == size]
    details = ", ".join(filter(None, (family.details, where)))
    made = Drawing(f"scaling-{size_text(size)}", slug_of(f"{family.coll}-{family.dtype}-{'in' if family.inplace else 'out'}-{family.memory}"
                                                         f"-{family.setup.slug}{'' if on_each == ONE_HOST else f'-{on_each}-a-host' if on_each else '-any-hosts'}"),
                   f"{family.coll} of {size_text(size)} over ranks: time of one call (µs, lower is better)", details,
                   plot.caption("Medians with 95 % intervals."), None, curves.COLUMNS, lambda: curves.rows(plot),
                   points, merged(members))
    made.draw = lambda canvas: curves.draw(plot, made, canvas)
    return made
