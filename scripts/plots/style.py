# SPDX-License-Identifier: Apache-2.0
"""How all figures look, on a page (screen) and in a column of a paper, and how they become SVG."""

import io
import json
import re
import textwrap
import warnings
from dataclasses import dataclass, field
from html import escape

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from tutti.printable import in_page

# Readers' fonts have letters that matplotlib's has not.
warnings.filterwarnings("ignore", message="Glyph .* missing from")

INK, SOFT, GRID, WARN = "#1d2329", "#4b525b", "#e8eaed", "#9a3412"
LEGEND_NAME = 34  # letters

_COMMON = {
    "font.family": "DejaVu Sans", "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#8a9099", "axes.labelcolor": "#333a42", "text.color": INK,
    "xtick.color": SOFT, "ytick.color": SOFT, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "legend.frameon": False, "hatch.linewidth": 0.6,
    "svg.fonttype": "none",     # text stays text: it can be searched and copied
    "pdf.fonttype": 42,         # publishers ask for it
    "text.parse_math": False,   # a $ in a name is a $
}


def _sign(letter):
    """A letter as a marker, around its middle."""
    drawn = TextPath((0, 0), letter, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    return Path(drawn.vertices - drawn.get_extents().get_points().mean(axis=0), drawn.codes)


LETTERS = {letter: _sign(letter) for letter in "?†↑↓≈–"}  # none of them is the marker of an algorithm
QUESTION, DAGGER, UP, DOWN, *_ = LETTERS.values()


@dataclass(frozen=True)
class Style:
    """Inches and points."""

    name: str
    width: float        # width of a figure in one column
    wide: float         # at most
    settings: dict = field(hash=False)
    marker: float = 4.6
    letters: float = 10.9  # letters of a title per inch
    small: float = 8
    has_title: bool = True


# The width fits a phone at 1.13 times its size, where the smallest words have nine pixels.
SCREEN = Style("screen", 4.6, 10.8, _COMMON | {
    "font.size": 9.5, "axes.titlesize": 10.5, "legend.fontsize": 8.8, "grid.linewidth": 0.8, "figure.dpi": 150})
# One column of a two-column page (IEEE, ACM) and the eight points of its captions.
PAPER = Style("paper", 3.5, 7.16, _COMMON | {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7.2, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "grid.linewidth": 0.5, "axes.linewidth": 0.6, "lines.linewidth": 1.1, "figure.dpi": 300,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "legend.handlelength": 2.6, "legend.columnspacing": 1.0, "legend.labelspacing": 0.3}, marker=3.4, letters=14, small=6.5,
    has_title=False)
STYLES = {style.name: style for style in (SCREEN, PAPER)}
# The style of pictures that place each thing themselves.
PICTURE = Style("picture", 0, 0, _COMMON | {"savefig.dpi": 96})


class Canvas:
    """Makes the figures of one report, all in one style and with one palette."""

    def __init__(self, palette, style=SCREEN):
        self.palette, self.style = palette, style
        self.hover = []  # (axes, x, y, text) of the figure that is being drawn

    def figure(self, height, width=None):
        """`height` is that of a page's figure in inches; a column of a paper is less wide and less high."""
        self.hover = []
        if self.style is PAPER:
            height *= 0.62
        width = width or self.style.width
        made = Figure(figsize=(width, height), layout="constrained")
        made.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
        return made

    def line(self, candidate):
        return {"markersize": self.style.marker, **self.palette.line(candidate)}

    def sign(self, sign, colour):
        """A letter at a point, or a marker, for Axes.plot."""
        return {"linestyle": "none", "marker": sign, "color": colour, "markersize": self.style.marker * 1.5,
                "markeredgewidth": 1.1 if sign == "x" else 0}

    def point_out(self, axes, x, y, text):
        """Adds the text that hovering over this place shows."""
        self.hover.append((axes, x, y, text))

    def room_for(self, boxes, names=("",)):
        """The width in inches of a table with this number of boxes in a row, and names before the rows: what it needs; all of a paper's page."""
        needed = 0.49 * boxes + 0.085 * max(len(line) for name in names for line in name.split("\n")) + 0.3
        return self.style.wide if self.style is PAPER else min(self.style.wide, max(self.style.width, needed))

    def columns(self, figure, labels):
        """The number of entries of a legend with room side by side; two for names of usual length."""
        size = self.style.settings["legend.fontsize"]
        room = figure.get_figwidth() * 72 / (0.56 * size * max(map(len, labels), default=1) + 3.2 * size)
        return max(1 if room < 1.9 else 2, min(int(room), len(labels)))

    def finish(self, figure, title, details, marks, legend=None, columns=None):
        """The words around a figure: title above, legend and marks below. `legend` has handles and labels."""
        handles, labels = legend or ([], [])
        columns = columns or self.columns(figure, labels)
        rows, row = -(-len(handles) // columns), 1.52 * self.style.settings["legend.fontsize"]
        figure.set_figheight(figure.get_figheight() + max(rows - 2, 0) * row / 72)  # a long legend takes nothing from the axes
        above = below = 0.0
        point = 1 / 72 / figure.get_figheight()
        if self.style.has_title:
            letters = int(figure.get_figwidth() * self.style.letters)
            wrapped = textwrap.wrap(title, letters, break_on_hyphens=False)[:3]
            under = textwrap.wrap(details, int(letters * 1.25), break_on_hyphens=False)[:2]
            size, small = self.style.settings["axes.titlesize"], self.style.small + 0.4
            figure.text(0.01, 1 - 2 * point, "\n".join(wrapped), va="top", fontweight="bold", fontsize=size)
            above = (5 + 1.22 * size * len(wrapped)) * point
            figure.text(0.01, 1 - above, "\n".join(under), va="top", color=SOFT, fontsize=small)
            above += (5 + 1.22 * small * len(under)) * point
        if marks:
            room = int(figure.get_figwidth() * 72 / (0.57 * self.style.small))
            lines = textwrap.wrap("! " + " · ".join(mark.replace(" ", "\u00a0") for mark in marks), room, break_on_hyphens=False)
            figure.text(0.995, 0.004, "\n".join(lines).replace("\u00a0", " "), va="bottom", ha="right", color=WARN, fontsize=self.style.small, linespacing=1.15)
            below += (0.25 + 1.15 * len(lines)) * self.style.small * point
        if handles:
            figure.legend(handles, labels, loc="lower center", ncols=columns, bbox_to_anchor=(0.5, below), borderaxespad=0)
            below += (row * rows + 3) * point
        figure.get_layout_engine().set(rect=(0, below, 1, 1 - above - below))
        # Once is enough; savefig would do it again.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        return figure


def settings(style=SCREEN):
    """Figures are made under these, so that defaults of this machine do not matter."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **style.settings})


def shortened(name, letters=LEGEND_NAME):
    """A name for a legend, which leaves out what begins with _; the table has all of it."""
    name = f" {name}" if name.startswith("_") else name
    return name if len(name) <= letters else name[:letters - 1] + "…"


def wrapped(names, letters):
    """Whole names for rows, in lines of this many letters, and how many times as high the rows must be."""
    names = ["\n".join(textwrap.wrap(name, letters, break_on_hyphens=False)) for name in names]
    return names, max(1, 0.82 * max((name.count("\n") + 1 for name in names), default=1))


def file_bytes(figure, form):
    """The figure as a file of its own: svg, pdf or png; the same bytes for the same results."""
    out = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None, "Producer": None}, "png": {"Software": None}}
    figure.savefig(out, format=form, metadata=metadata[form])
    return out.getvalue()


def svg_text(figure, name, description, hover=()):
    """The figure as an <svg> element, without what a page does not need. `name` keeps the ids of two figures on one page
    apart; `hover` is what a Canvas collected."""
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        svg = file_bytes(figure, "svg").decode("utf-8")
    svg = svg[svg.index("<svg "):]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)  # names such as axes_1: not referred to, equal in all figures
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(?<![\w.#])\d*\.\d{3,}(?![\w.])", _rounded, tag[0]), svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    svg = svg.replace("; stroke-linejoin: miter", "").replace('xmlns:xlink="http://www.w3.org/1999/xlink"',
                                                              'xmlns:xlink="http://www.w3.org/1999/xlink" role="img"')
    head, body = svg.split(">", 1)
    data = f" data-points='{_points(figure, hover)}'" if hover else ""
    return in_page(f"{head}{data}>\n<title>{escape(description)}</title>{body}")


def svg_file(figure, name, description):
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + svg_text(figure, name, description)).encode("utf-8")


def _rounded(match):
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _points(figure, hover):
    """[[x, y, text]...] in the units of the picture, as JSON for an attribute."""
    height = figure.get_figheight() * 72
    found = []
    for axes, x, y, text in hover:
        across, up = axes.transData.transform((x, y)) / figure.dpi * 72
        if -1e5 < across < 1e5 and -1e5 < up < 1e5:
            found.append([round(float(across)), round(float(height - up)), text])
    return escape(json.dumps(found, ensure_ascii=False, separators=(",", ":")), quote=True)
