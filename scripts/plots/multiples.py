# SPDX-License-Identifier: Apache-2.0
"""Small multiples: one quantity of many collectives or numbers of ranks in equal axes side by side, with one legend."""

import re
import textwrap
from collections import Counter, defaultdict
from dataclasses import replace

from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from . import curves, signs, style, ticks
from .drawing import Drawing
from .reliability import merged
from .shapes import SHORT, distinguishing, slug_of

KINDS = ("ratio", "limit", "latency", "bandwidth")
FREE = {"coll": "", "nranks": 0, "ppn": 0, "op": "none", "root": -1}  # the axes of one figure differ in these
MOST_AXES = 16
MOST_LINES = 6
SIGNS = {meaning for meaning, *_ in signs.LEGEND}  # signs of points, for which these axes are too small
NARROWEST, HEIGHT = 1.65, 2.2  # inches of one of the axes with its numbers


def drawings(of_section):
    """One figure of each quantity for each family of sections that differ in collective or in number of ranks."""
    families = defaultdict(list)
    for section, drawn in of_section.items():
        for drawing in drawn:
            if drawing.kind in KINDS:
                families[drawing.kind, replace(section.shape, **FREE)].append((section, drawing))
    found = []
    for (kind, family), members in families.items():
        for first in range(0, len(members), MOST_AXES):
            if len(members) > 1:
                found.append(_drawing(kind, family, members[first:first + MOST_AXES]))
    return found


def _drawing(kind, family, members):
    sections = [section for section, _ in members]
    names = distinguishing([section.shape for section in sections], SHORT)
    shown = _shown(sections)
    parts = {names[section.shape]: _of_candidates(drawing.plot, shown) for section, drawing in members}
    parts = {name: plot for name, plot in parts.items() if plot.front}
    first = members[0][1]
    title = "Speed-up over the library (×, higher is better)" if kind == "ratio" else first.title
    made = Drawing(f"multiples-{kind}", slug_of("-".join(filter(None, (family.dtype, "in" if family.inplace else "out", family.memory, family.placement,
                                                                       family.input, family.blocks, family.setup.slug)))),
                   title, family.details, _caption(first, kind), None, ("axes", *curves.COLUMNS),
                   lambda: [(name, *row) for name, plot in parts.items() for row in curves.rows(plot)],
                   [point for section in sections for point in section.points], merged(sections), is_wide=True)
    made.draw = lambda canvas: _draw(parts, kind, made, canvas)
    return made


def _caption(drawing, kind):
    caption = "The library's time divided by the candidate's, with 95 % intervals." if kind == "ratio" else drawing.caption
    return f"{caption} All axes have the same scale. The figures of each collective have the signs of single points."


def _shown(sections):
    """The candidates with colours: those that win most often, and all libraries."""
    wins = Counter(section.best(size) for section in sections for size in section.sizes)
    libraries = {library for section in sections for library in section.baselines()}
    rivals = {candidate for section in sections for candidate in section.candidates} - libraries
    return {*sorted(rivals, key=lambda one: (-wins[one], one))[:MOST_LINES], *libraries}


def _of_candidates(plot, shown):
    return replace(plot, curves=[replace(curve, label=curve.candidate.name, in_front=curve.candidate in shown) if curve.candidate else curve
                                 for curve in plot.curves])


def _draw(parts, kind, drawing, canvas):
    width = canvas.style.wide
    columns = _columns(list(parts), int(width / NARROWEST))
    rows = -(-len(parts) // columns)
    made = canvas.figure(0.9 + HEIGHT * rows, width)
    grid = made.subplots(rows, columns, squeeze=False)
    entries = {}
    for axes, (name, plot) in zip(grid.flat, parts.items()):
        handles, labels = curves.fill(axes, plot, canvas)
        for handle, label in zip(handles, labels):
            if label not in SIGNS:
                entries.setdefault(_without_number(label), handle)
        size = canvas.style.small + 0.5
        axes.set_title("\n".join(textwrap.wrap(name, int(72 * width / columns / (0.62 * size)))), fontsize=size, fontweight="normal", loc="center", pad=3)
        axes.set_xlabel("")
        axes.set_ylabel("")
    used = grid.flat[:len(parts)]
    limits = [axes.get_ylim() for axes in used]
    for place, axes in enumerate(used):
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        axes.tick_params(labelleft=place % columns == 0)
    for axes in grid.flat[len(parts):]:
        axes.remove()
    if any(list(signs.cut_intervals(axes, plot, canvas)) for axes, plot in zip(used, parts.values())):
        entries[signs.CONTINUES] = Line2D([], [], **canvas.sign(style.UP, style.SOFT))
    first = next(iter(parts.values()))
    size = canvas.style.settings.get("axes.labelsize", canvas.style.settings["font.size"])
    below = made.supxlabel(first.x_label, fontsize=size)
    letters = int((made.get_figheight() / (1 + 0.4 / rows) - 0.4 * rows) * 72 / (0.62 * size))
    words = "speed-up over the library" if kind == "ratio" else first.y_label
    left = made.supylabel("\n".join(textwrap.wrap(words, letters, break_long_words=False)), fontsize=size)
    canvas.finish(made, drawing.title, drawing.details, drawing.marks, (list(entries.values()), list(entries)), key=drawing.key)
    for axes, plot in zip(used, parts.values()):
        ticks.thin(axes)
        signs.put_arrows(axes, plot, canvas)
    _put_next_to(used, below, left)
    return made


def _put_next_to(all_axes, below, left):
    """Moves the names of the axes, for which the layout left room, from the edge of the figure to the middle of all axes."""
    figure = below.figure
    inner = Bbox.union([axes.bbox for axes in all_axes]).transformed(figure.transFigure.inverted())
    outer = Bbox.union([axes.get_tightbbox() for axes in all_axes]).transformed(figure.transFigure.inverted())
    below.set(position=((inner.x0 + inner.x1) / 2, outer.y0 - 2 / 72 / figure.get_figheight()), va="top")
    left.set(y=(inner.y0 + inner.y1) / 2)


def _without_number(label):
    return re.sub(r"^\d+ others?$", "others", label)


def _columns(names, most):
    """Returns how many axes stand in a row: those of the first collective or a multiple of them if they fit, else as many as fit."""
    of_first = sum(name.split(",")[0] == names[0].split(",")[0] for name in names)
    most = max(1, min(most, len(names)))
    rows = -(-len(names) // most)
    return -(-len(names) // rows) if of_first > most or len(names) % of_first else most // of_first * of_first
