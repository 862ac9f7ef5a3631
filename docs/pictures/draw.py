#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the explaining pictures of the documentation: docs/pictures/draw.py [TUTTI]

report-parts.png shows the parts of a report, with figures of stored results. call-time.svg shows how a call is timed, rounds.svg the
order in which candidates run, memory.svg the kinds of memory, levels.svg a hierarchical all-reduce. The other pictures come from tutti.
"""
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  # pylint: disable=wrong-import-position
from matplotlib.patches import Rectangle  # noqa: E402  # pylint: disable=wrong-import-position

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "results/reference/epyc-2-cores/all_reduce-np2.jsonl"
INK, PALE, BLUE, ORANGE, GREY = "#222222", "#f3f5f8", "#2a6fb0", "#d9822b", "#8a929c"
plt.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans", "svg.hashsalt": "tutti"})


def canvas(width, height):
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def box(axes, left, bottom, width, height, colour=PALE):
    axes.add_patch(Rectangle((left, bottom), width, height, facecolor=colour, edgecolor="#c5ccd4", linewidth=0.8))


def lines(axes, left, top, texts, size=7.5):
    for number, text in enumerate(texts):
        axes.text(left, top - 0.17 * number, text, size=size, color=INK, va="top", family="DejaVu Sans Mono" if "  " in text else None)


def named(axes, y, name, meaning):
    axes.annotate("", (5.55, y), (5.95, y), arrowprops={"arrowstyle": "->", "color": ORANGE, "linewidth": 1.2})
    axes.text(6.02, y + 0.02, name, size=10, weight="bold", color=ORANGE, va="bottom")
    axes.text(6.02, y - 0.03, meaning, size=8.5, color=INK, va="top", linespacing=1.35)


def place(axes, image, bottom, top):
    """Shows the image between these heights in the middle of the page."""
    width = min(5.0, (top - bottom) * image.shape[1] / image.shape[0])
    height = width * image.shape[0] / image.shape[1]
    axes.imshow(image, extent=(2.85 - width / 2, 2.85 + width / 2, top - height, top), zorder=3)


def draw_report(tutti):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tutti, "report", RESULTS, "-o", f"{folder}/page.html", "--figures", f"{folder}/figures", "--format", "png"],
                       check=True, capture_output=True)
        figures = Path(folder) / "figures"
        decisions = plt.imread(figures / "all-decisions.png")
        with (figures / "all-decisions.csv").open(encoding="utf-8") as table:
            rows = [row for row in csv.DictReader(table) if row["significant"] == "True" and row["row"].endswith("out")]
        winners = [f"{int(row['bytes']):7}   {row['winner']:18}{float(row['gain']):.1f} [{float(row['low']):.1f}, {float(row['high']):.1f}]"
                   for row in rows[::2][:3]]
        ratio = plt.imread(next(figures.glob("*-sum-out-registered-ratio.png")))
    figure, axes = canvas(9.2, 8.4)
    box(axes, 0.15, 0.15, 5.4, 8.1, "white")
    axes.text(0.35, 8.1, "all_reduce on my machine", size=12, weight="bold", color=INK, va="top")
    box(axes, 0.35, 6.95, 5.0, 0.75, "#fdf4e7")
    lines(axes, 0.45, 7.62, ["Trust: rankings reliable, ratios not", "launches of a shared machine: most intervals are wide",
                             "3 launches, 2 ranks on 2 cores, nothing was skipped"])
    box(axes, 0.35, 5.75, 5.0, 1.05)
    lines(axes, 0.45, 6.72, ["Who wins", "   size   best              times as fast", *winners], 6.6)
    place(axes, decisions, 4.2, 5.65)
    place(axes, ratio, 1.3, 4.15)
    box(axes, 0.35, 0.8, 5.0, 0.45)
    lines(axes, 0.45, 1.17, ["Terms: † disturbed, ≈ statistically tied, [?] interval unknown"])
    box(axes, 0.35, 0.25, 5.0, 0.45)
    lines(axes, 0.45, 0.62, ["Sources: file, command, machine, libraries, settings of each launch"])
    axes.set(xlim=(0, 9.2), ylim=(0, 8.4), aspect="equal")
    named(axes, 7.35, "Trust", "Read this first: are ratios and rankings\nreliable, only rankings, or neither?")
    named(axes, 6.3, "Who wins", "The best candidate for each size, its ratio\nto the library with a 95 % interval,\nand who is statistically tied with it.")
    named(axes, 4.95, "The map", "Which algorithm wins at which size.\nOne row for each collective, number of\nranks and kind of memory.")
    named(axes, 2.75, "A section for each collective", "Ratio to the library (here), % of limit,\ntime, bandwidth, all against the best,\nspread, and the numbers as a table.")
    named(axes, 1.05, "Terms", "Every mark and word of the page.")
    named(axes, 0.45, "Sources", "What to run to get the same page.")
    figure.savefig(HERE / "report-parts.png", dpi=100, metadata={"Software": None})


def draw_call():
    figure, axes = canvas(7.6, 2.5)
    axes.annotate("", (7.4, 0.35), (0.9, 0.35), arrowprops={"arrowstyle": "->", "color": GREY})
    axes.text(7.4, 0.12, "time", size=8.5, color=GREY, ha="right")
    for number, (begin, end) in enumerate([(2.0, 5.3), (2.3, 6.2), (2.1, 4.6)]):
        y = 1.65 - 0.5 * number
        axes.text(0.75, y, f"rank {number}", va="center", ha="right", size=9, color=INK)
        axes.plot((0.9, begin), (y, y), color=GREY, linewidth=1, linestyle=":")
        axes.add_patch(Rectangle((begin, y - 0.13), end - begin, 0.26, facecolor=BLUE, edgecolor="none"))
    axes.plot((2.3, 2.3), (0.35, 2.05), color=ORANGE, linewidth=1.2)
    axes.plot((6.2, 6.2), (0.35, 2.05), color=ORANGE, linewidth=1.2)
    axes.annotate("", (6.2, 2.0), (2.3, 2.0), arrowprops={"arrowstyle": "<->", "color": ORANGE, "linewidth": 1.2})
    axes.text(4.25, 2.08, "time of the call: from the last begin to the last end", size=9, color=ORANGE, ha="center")
    axes.plot((1.9, 1.9), (0.35, 1.9), color=GREY, linewidth=1, linestyle="--")
    axes.text(1.85, 2.08, "common start", size=8.5, color=GREY, ha="center")
    figure.savefig(HERE / "call-time.svg", metadata={"Date": None, "Creator": None})


def draw_rounds():
    figure, axes = canvas(7.6, 1.7)
    order = ["A", "B", "C", "C", "B", "A", "B", "C", "A", "A", "C", "B"]
    colours = {"A": BLUE, "B": ORANGE, "C": "#4a9a6a"}
    for number, name in enumerate(order):
        left = 0.3 + 0.57 * number + 0.12 * (number // 3)
        axes.add_patch(Rectangle((left, 0.6), 0.52, 0.4, facecolor=colours[name], edgecolor="none"))
        axes.text(left + 0.26, 0.8, name, ha="center", va="center", color="white", weight="bold")
    for number, text in enumerate(["round 1", "the same, backwards", "round 3, a new order", "the same, backwards"]):
        left = 0.3 + 1.83 * number
        axes.text(left + 0.83, 1.12, text, ha="center", size=8.5, color=INK)
    axes.text(0.3, 0.32, "Each box is a batch of about 1 ms of one candidate. All candidates meet the same drift of the machine.", size=8.5, color=INK)
    figure.savefig(HERE / "rounds.svg", metadata={"Date": None, "Creator": None})


def arrow(axes, start, end, colour=BLUE, bend=0.0):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "connectionstyle": f"arc3,rad={bend}"})


def buffer(axes, left, bottom, text, colour="white", width=0.95):
    box(axes, left, bottom, width, 0.34, colour)
    axes.text(left + width / 2, bottom + 0.17, text, ha="center", va="center", size=8, color=INK)


def draw_memory():
    figure, axes = canvas(8.6, 2.6)
    panels = [("registered, mapped", "peers access the buffer itself"), ("unregistered: copy-in-copy-out", "the owner copies pieces into shared memory"),
              ("unregistered: single-copy", "the kernel copies between the processes")]
    for number, (name, meaning) in enumerate(panels):
        left = 0.15 + 2.85 * number
        axes.text(left + 1.3, 2.4, name, ha="center", size=9.5, weight="bold", color=INK)
        axes.text(left + 1.3, 2.18, meaning, ha="center", size=7.8, color=INK)
        for side, rank in ((0, "rank 0"), (1.55, "rank 1")):
            box(axes, left + side, 0.2, 1.1, 1.8)
            axes.text(left + side + 0.55, 0.28, rank, ha="center", size=8, color=GREY)
        buffer(axes, left + 0.07, 1.5, "input")
        buffer(axes, left + 1.62, 0.6, "output")
        if number == 0:
            arrow(axes, (left + 1.02, 1.6), (left + 1.7, 0.98))
        elif number == 1:
            buffer(axes, left + 0.9, 1.05, "shared", "#fdf4e7", 0.85)
            arrow(axes, (left + 0.6, 1.5), (left + 0.98, 1.3), ORANGE)
            arrow(axes, (left + 1.7, 1.08), (left + 1.95, 0.94))
        else:
            arrow(axes, (left + 1.02, 1.6), (left + 1.7, 0.98), ORANGE)
            axes.text(left + 1.33, 1.38, "kernel", ha="center", size=8, color=ORANGE, rotation=0, backgroundcolor="white")
    figure.savefig(HERE / "memory.svg", metadata={"Date": None, "Creator": None})


def draw_levels():
    figure, axes = canvas(8.0, 2.3)
    centres = []
    for node in range(3):
        left = 0.2 + 2.65 * node
        box(axes, left, 0.25, 2.3, 1.3)
        axes.text(left + 1.15, 0.08, f"node {node}", ha="center", size=8.5, color=GREY)
        for rank in range(4):
            x = left + 0.32 + 0.55 * rank
            leader = rank == 0
            axes.add_patch(plt.Circle((x, 0.62 if not leader else 1.2), 0.17, facecolor=ORANGE if leader else BLUE, edgecolor="none"))
            axes.text(x, 0.62 if not leader else 1.2, str(4 * node + rank), ha="center", va="center", color="white", size=8)
            if not leader:
                arrow(axes, (x - 0.08, 0.78), (left + 0.46, 1.12), GREY)
        centres.append(left + 0.32)
    for first, second in zip(centres, centres[1:]):
        arrow(axes, (first + 0.1, 1.36), (second - 0.1, 1.36), ORANGE, -0.18)
    axes.text(0.2, 2.08, "First each node reduces to its leader, then the leaders run a ring, then each node gets the result.", size=8.8, color=INK)
    axes.set_aspect("equal")
    figure.savefig(HERE / "levels.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw_report(sys.argv[1] if len(sys.argv) > 1 else "build/tutti")
    draw_call()
    draw_rounds()
    draw_memory()
    draw_levels()
