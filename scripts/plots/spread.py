# SPDX-License-Identifier: Apache-2.0
"""How sure the medians are, and how far single calls stray."""

from . import style
from .units import size_text

MOST_SHOWN = 4
HIGHEST = 2.5  # times the best; what goes beyond is cut and marked


def spread(section, look):
    """Per size and candidate: the median, its interval (thick) and the samples' p05..p95 (thin)."""
    shown = section.shown(MOST_SHOWN)
    made = style.figure(12.6, 3.9)
    axes = made.add_subplot()
    reached = 1.0
    for place, candidate in enumerate(shown):
        offset = 0.8 * ((place + 0.5) / len(shown) - 0.5)
        reached = max(reached, _draw(axes, section, look, candidate, offset))
    top = min(HIGHEST, reached * 1.03)
    axes.set_ylim(None, top)
    axes.set_xlim(-0.5, len(section.sizes) - 0.5)
    for x in range(len(section.sizes) - 1):
        axes.axvline(x + 0.5, color="#e8eaed", linewidth=0.8)
    axes.axhline(1, color="#8a9099", linewidth=0.8)
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(section.sizes)), [size_text(size) for size in section.sizes])
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("message size (bytes, K = 1024)")
    axes.set_ylabel("time over the best median,\nlower is better")
    style.title(axes, f"{section.shape.title}: medians with their 95 % interval (thick) and the middle "
                      "90 % of the calls (thin)" + (", ▲ goes on" if reached > HIGHEST else ""))
    made.legend(*axes.get_legend_handles_labels(), loc="lower center",
                ncols=len(shown), bbox_to_anchor=(0.5, 0), borderaxespad=0)
    made.get_layout_engine().set(rect=(0, 0.07, 1, 0.93))
    return made


def _draw(axes, section, look, candidate, offset):
    """Draws one candidate at all sizes; returns how far up it reaches."""
    colour = look.colour(candidate)
    marker = look.line(candidate)["marker"]
    reached = 1.0
    first = True
    for x, size in enumerate(section.sizes):
        cell = section.cell(candidate, size)
        if cell is None:
            continue
        best = section.cell(section.best(size), size).p50
        at = x + offset
        axes.vlines(at, cell.p05 / best, min(cell.p95 / best, HIGHEST), color=colour, linewidth=1)
        axes.vlines(at, cell.lo / best, min(cell.hi / best, HIGHEST), color=colour, linewidth=4, alpha=0.55)
        if cell.p95 / best > HIGHEST:
            axes.plot(at, HIGHEST, marker="^", markersize=5, color=colour, clip_on=False)
        name = f"[{candidate.label}]" if candidate.is_baseline else candidate.label
        if cell.p50 / best <= HIGHEST:
            axes.plot(at, cell.p50 / best, marker=marker, markersize=5, linestyle="none", color=colour,
                      markeredgecolor="white", markeredgewidth=0.6, label=name if first else None)
            first = False
        reached = max(reached, cell.p95 / best)
    return reached
