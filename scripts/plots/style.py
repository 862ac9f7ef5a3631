# SPDX-License-Identifier: Apache-2.0
"""How all figures look: a colour is an algorithm, line style and marker are the transport; variants of an algorithm
over it have markers of their own."""

import io
import re
import textwrap
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.figure import Figure

from .units import size_text

# Okabe and Ito's palette, which colour-blind readers can distinguish; black is for baselines.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#d9c400", "#0072b2", "#d55e00", "#cc79a7")
OTHERS_GREY = "#cfd3d8"
LIMIT_GREY = "#5b626b"

# The common algorithms look the same in every report; the rest take what is free, by name.
KNOWN = {"ring": BLUE, "tree": GREEN, "double-tree": PURPLE, "butterfly": RED, "halving-doubling": ORANGE,
         "round-robin": SKY, "linear": YELLOW, "bruck": "#5e3c99", "chain": "#8c510a", "circulant": "#35978f",
         "one-shot": "#b2182b", "two-shot": "#e7298a", "two-level": "#1b5e20", "two-level-butterfly": "#9e9d24",
         "three-level": "#6d4c41", "multi-rail": "#4a148c"}
SPARE = ("#3f51b5", "#a6761d", "#607d8b", "#7b8d00", "#ad1457", "#00838f")

TRANSPORTS = {"shm": ("-", "o"), "mpi": ("--", "s"), "ucx": ("-.", "^"), "loopback": (":", "D"),
              "nccl": ("--", "P"), "cuda": ("-", "v")}

# Of what is the same algorithm over the same transport, but cut otherwise, wider or in channels.
VARIANTS = ("<", ">", "p", "h", "*", "d", "8")

SETTINGS = {
    "font.family": "DejaVu Sans", "font.size": 9.5, "axes.titlesize": 10.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#8a9099", "axes.labelcolor": "#333a42", "text.color": "#1d2329",
    "xtick.color": "#5b626b", "ytick.color": "#5b626b", "axes.grid": True, "grid.color": "#e8eaed",
    "grid.linewidth": 0.8, "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": 9,
    "svg.fonttype": "none",     # text stays text: it can be searched and copied
    "text.parse_math": False,   # a $ in a name is a $
}


class Look:
    """Which colour and marker each candidate has, the same in every figure of a report."""

    def __init__(self, candidates):
        own = sorted({candidate.algorithm for candidate in candidates if not candidate.is_baseline})
        spare = [*SPARE, *(colour for name, colour in KNOWN.items() if name not in own)]
        unknown = [name for name in own if name not in KNOWN]
        self._colour = {name: KNOWN[name] for name in own if name in KNOWN}
        self._colour |= {name: spare[i % len(spare)] for i, name in enumerate(unknown)}

        kinds = {}
        for candidate in candidates:
            kinds.setdefault((candidate.algorithm, candidate.transport), set()).add(candidate.variant)
        self._variants = {kind: sorted(variants) for kind, variants in kinds.items()}

    def _marker(self, candidate, default):
        """The transport's, for the first of an algorithm's variants over it."""
        variants = self._variants.get((candidate.algorithm, candidate.transport), [candidate.variant])
        number = variants.index(candidate.variant)
        return VARIANTS[(number - 1) % len(VARIANTS)] if number else default

    def colour(self, candidate):
        return self._colour.get(candidate.algorithm, BLACK)

    def line(self, candidate):
        """Keyword arguments for Axes.plot."""
        style, marker = TRANSPORTS.get(candidate.transport, ("-", "X"))
        colour = self.colour(candidate)
        if candidate.is_baseline:
            style, marker = (0, (4, 2)), TRANSPORTS.get(candidate.impl, ("", "s"))[1]
        else:
            marker = self._marker(candidate, marker)
        # A hollow marker is a pipelined variant.
        return {"color": colour, "linestyle": style, "marker": marker, "markersize": 4.5,
                "linewidth": 2.0 if candidate.is_baseline else 1.6,
                "markerfacecolor": "white" if candidate.segment else colour}


def limit_line(buf):
    """Keyword arguments for Axes.plot: dashed, and no marker, as nobody ran there."""
    dashes = (0, (5, 2)) if buf == "registered" else (0, (1.5, 1.5))
    return {"color": LIMIT_GREY, "linestyle": dashes, "linewidth": 1.4}


def figure(width, height):
    """An empty figure; made under `settings`, so that defaults of this machine do not matter."""
    made = Figure(figsize=(width, height), layout="constrained")
    made.get_layout_engine().set(w_pad=0.04, h_pad=0.04)
    return made


def settings():
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **SETTINGS})


def title(axes, text, letters=None):
    """Broken into lines of so many letters, or that fit the figure."""
    letters = letters or int(axes.figure.get_figwidth() * 10.7)
    axes.set_title("\n".join(textwrap.wrap(text, letters, break_on_hyphens=False)))


def label_sizes(axes, sizes):
    """Every measured size gets a tick at its own place on a log axis, and none between."""
    if 0 in sizes:  # stands one step left of the smallest size
        axes.set_xscale("symlog", base=2, linthresh=min(filter(None, sizes), default=1))
    else:
        axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size_text(size) for size in sizes], minor=False)
    axes.set_xticks([], minor=True)
    if len(sizes) > 12:
        axes.tick_params(axis="x", labelrotation=60)
    axes.set_xlabel("message size (bytes, K = 1024)")


def svg_text(made, name, description):
    """The figure as an <svg> element: the same bytes for the same results. `name` keeps the ids of two
    figures on one page apart."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        made.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg "):]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)  # names such as axes_1: not referred to, equal in all figures
    head, body = svg.split(">", 1)
    return f'{head} role="img">\n <title>{escape(description)}</title>{body}'
