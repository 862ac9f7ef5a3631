# SPDX-License-Identifier: Apache-2.0
"""Latency and bandwidth over size."""

from . import style
from .units import size_text, time_text

MOST_LINES = 6


def latency(section, look):
    """Time of one call over size, both logarithmic."""
    made = style.figure(6.3, 5.0)
    axes = made.add_subplot()
    _draw(axes, section, look, lambda cell: cell.p50 / 1000, lambda least_ns, _: least_ns / 1000)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel("time of one call (µs), lower is better")
    style.title(axes, f"{section.shape.title}: " + _ends(section, lambda cell: time_text(cell.p50)))
    return made


def bandwidth(section, look):
    """Bus bandwidth over size, from 0."""
    made = style.figure(6.3, 5.0)
    axes = made.add_subplot()
    _draw(axes, section, look, lambda cell: cell.busbw, lambda _, busbw: busbw)
    highest = max(cell.busbw for cell in section.cells.values())
    # A limit far above everyone would press the lines together; it may leave the picture.
    axes.set_ylim(0, min(axes.get_ylim()[1], 2.2 * highest) or None)
    axes.set_ylabel("bus bandwidth (GB/s, 10⁹), higher is better")
    top = max(section.cells, key=lambda place: section.cells[place].busbw)
    style.title(axes, f"{section.shape.title}: at most {section.cells[top].busbw:.3g} GB/s, "
                      f"by {top[0].label} at {size_text(top[1])}")
    return made


def _draw(axes, section, look, value, value_of_limit):
    shown = section.shown(MOST_LINES)
    others = [candidate for candidate in section.candidates if candidate not in shown]
    for candidate in others:
        line = section.line(candidate)
        axes.plot([size for size, _ in line], [value(cell) for _, cell in line],
                  color=style.OTHERS_GREY, linewidth=0.8, zorder=1)
    for candidate in reversed(shown):  # the best on top
        line = section.line(candidate)
        name = f"[{candidate.label}]" if candidate.is_baseline else candidate.label
        axes.plot([size for size, _ in line], [value(cell) for _, cell in line], label=name,
                  zorder=3, **look.line(candidate))
    if others:
        axes.plot([], [], color=style.OTHERS_GREY, linewidth=0.8, label=f"{len(others)} others")
    limits = section.limits()
    for buf, line in limits.items():
        axes.plot([size for size, *_ in line], [value_of_limit(least, busbw) for _, least, busbw in line],
                  label="limit of this machine" + (f" ({buf} memory)" if len(limits) > 1 else ""),
                  zorder=2, **style.limit_line(buf))
    style.label_sizes(axes, section.sizes)
    handles, labels = axes.get_legend_handles_labels()
    order = list(range(len(shown)))[::-1] + list(range(len(shown), len(handles)))
    axes.figure.legend([handles[i] for i in order], [labels[i] for i in order], loc="lower center",
                       ncols=2, bbox_to_anchor=(0.5, 0), borderaxespad=0)
    rows = (len(handles) + 1) // 2
    axes.figure.get_layout_engine().set(rect=(0, 0.037 * rows + 0.02, 1, 1 - 0.037 * rows - 0.02))


def _ends(section, text):
    first, last = section.sizes[0], section.sizes[-1]
    return " to ".join(f"{text(section.cell(section.best(size), size))} at {size_text(size)}"
                       for size in dict.fromkeys((first, last)))
