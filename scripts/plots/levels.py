# SPDX-License-Identifier: Apache-2.0
"""Where the time of a call goes: inside caches, NUMA nodes and hosts, or between hosts."""

from matplotlib.patches import Patch

from . import boxes, tables
from .drawing import Drawing
from .palette import RED
from .reliability import doubt_text
from .units import size_text, time_text

PARTS = {"cache": "caches", "numa": "NUMA nodes", "package": "packages", "host": "hosts", "switch": "switches", "rack": "racks"}
# Blue inside hosts, orange and red between them; light to dark, so that neighbours differ in grey, too.
COLOURS = {"cache": "#e3e7eb", "numa": "#bdd3e6", "package": "#94bfe2", "host": "#6aa5d4", "switch": "#d99a3d", "rack": "#c9752a", None: RED}
COLUMNS = ("candidate", "bytes", "time_ns", "level", "level_ns", "share", "level_bytes", "messages")
HEADS = ("size", "candidate", "level", "time µs", "% of the time", "bytes", "messages")


def drawings(section):
    rows = _fastest(section, lambda cell: cell.levels and all(share["ns"] is not None for share in cell.levels))
    if not rows:
        return []
    made = Drawing("levels", section.shape.slug, "Time by level (% of the time of a call)", f"{section.shape.title}, {section.shape.details}",
                   "The fastest algorithm of tutti at each size, with its time. A step counts for the outermost level of its transfers; "
                   f"it begins when all ranks have ended the step before. Measured in separate calls.{doubt_text(section)}",
                   None, COLUMNS, lambda: list(_data(section)), section.points, section.notes)
    made.draw = lambda canvas: _draw(rows, made, canvas)
    return [made]


def levels_table(section):
    """Returns the table of the fastest algorithm at each size; empty without levels."""
    rows = [[tables.Cell(size_text(size), size), candidate.name, name, *_times(share, cell.levels), share["bytes"], share["messages"]]
            for size, candidate, cell in _fastest(section, lambda cell: cell.levels) for name, share in _named(cell.levels)]
    return tables.table(HEADS, rows, numbers=(0, 3, 4, 5, 6)) if rows else ""


def _times(share, levels):
    return ("–", "–") if share["ns"] is None else (f"{share['ns'] / 1e3:.4g}", f"{_percent(share, levels):.0f}")


def _fastest(section, is_shown):
    """[(size, candidate, cell)]: at each size the fastest candidate that is shown."""
    found = ([(size, candidate, section.cell(candidate, size)) for candidate in section.order(size) if is_shown(section.cell(candidate, size))][:1]
             for size in section.sizes)
    return [row for rows in found for row in rows]


def _named(levels):
    """[(name, share)]: what has no level is between the parts of the largest one."""
    largest = [share["within"] for share in levels if share.get("within")][-1]
    return [(f"inside {PARTS[share['within']]}" if share.get("within") else f"between {PARTS[largest]}", share) for share in levels]


def _percent(share, levels):
    return 100 * share["ns"] / max(sum(other["ns"] for other in levels), 1)


def _data(section):
    for candidate in section.candidates:
        for size, cell in section.line(candidate):
            for name, share in _named(cell.levels) if cell.levels else ():
                known = share["ns"] is not None
                yield (candidate.name, size, cell.p50, name, share["ns"], _percent(share, cell.levels) / 100 if known else None, share["bytes"],
                       share["messages"])


def _draw(rows, drawing, canvas):
    labels = [f"{size_text(size)} · {candidate.name}" for size, candidate, _ in rows]
    names, higher = boxes.wrapped(canvas, labels, canvas.style.width)
    made = canvas.figure(1.6 + 0.22 * higher * len(rows))
    axes = made.add_subplot()
    legend = {}
    for place, (_, _, cell) in enumerate(rows):
        left = 0
        for name, share in _named(cell.levels):
            percent, colour = _percent(share, cell.levels), COLOURS[share.get("within")]
            axes.barh(place, percent, left=left, color=colour, edgecolor="white", linewidth=0.3, height=0.7)
            canvas.point_out(axes, left + percent / 2, place, f"{labels[place]}, {name}: {percent:.0f} % of {time_text(cell.p50)}, {share['bytes']:,} bytes in "
                                                              f"{share['messages']:,} messages")
            legend[name] = Patch(facecolor=colour, edgecolor="white")
            left += percent
        axes.annotate(time_text(cell.p50), (100, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=canvas.style.small,
                      annotation_clip=False)
    axes.set_xlim(0, 100)
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("% of the time (number: time of a call)")
    return canvas.finish(made, drawing.title, drawing.details, drawing.marks, (list(legend.values()), list(legend)))
