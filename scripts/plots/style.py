# SPDX-License-Identifier: Apache-2.0
"""How all figures look, on a page (screen) and in a column of a paper, and how they become SVG."""

import difflib
import io
import json
import re
import textwrap
import warnings
from dataclasses import dataclass, field, replace
from html import escape

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from tutti.lines import ResultsError
from tutti.printable import in_page

from .palette import FILLS, LARGER

# Readers' fonts have letters that matplotlib's has not.
warnings.filterwarnings("ignore", message="Glyph .* missing from")

INK, SOFT, GRID, WARN = "#1d2329", "#4b525b", "#e8eaed", "#9a3412"
LEGEND_NAME = 34  # letters
FONT = "DejaVu Sans"

_COMMON = {
    "font.family": FONT, "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.spines.top": False,
    "axes.spines.right": False, "axes.edgecolor": "#8a9099", "axes.labelcolor": "#333a42", "text.color": INK,
    "xtick.color": SOFT, "ytick.color": SOFT, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "legend.frameon": False, "hatch.linewidth": 0.6,
    "svg.fonttype": "none",     # text stays text: it can be searched and copied
    "pdf.fonttype": 42,         # publishers ask for it
    "text.parse_math": False,   # a $ in a name is a $
}


def _sign(letter):
    """A letter as a marker, around its middle."""
    drawn = TextPath((0, 0), letter, prop=FontProperties(family=FONT, weight="bold"))
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
    is_paper: bool = False  # wide figures have all of the width, and figures are less high
    height: float = 0       # height of all figures with their legends; 0: as high as they need
    legend: str = "below"   # auto, inside, right, below or none
    has_warnings: bool = True


# The width fits a phone at 1.13 times its size, where the smallest words have nine pixels.
SCREEN = Style("screen", 4.6, 10.8, _COMMON | {
    "font.size": 9.5, "axes.titlesize": 10.5, "legend.fontsize": 8.8, "grid.linewidth": 0.8, "figure.dpi": 150})
# One column of a two-column page (IEEE, ACM) and the eight points of its captions.
PAPER = Style("paper", 3.5, 7.16, _COMMON | {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7.2, "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5, "grid.linewidth": 0.5, "axes.linewidth": 0.6, "lines.linewidth": 1.1, "figure.dpi": 300,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "legend.handlelength": 2.6, "legend.columnspacing": 1.0, "legend.labelspacing": 0.3}, marker=3.4, letters=14, small=6.5,
    has_title=False, is_paper=True, legend="auto")
STYLES = {style.name: style for style in (SCREEN, PAPER)}
# The style of pictures that place each thing themselves.
PICTURE = Style("picture", 0, 0, _COMMON | {"savefig.dpi": 96})
MOST_LEGEND = 0.4   # share of a figure's height, and of its width next to the axes
MOST_NAMES = 0.28   # share of the width: names at the ends of curves, or within the axes
AROUND_AXES = 0.7   # inches of the height: names of the axis, and signs in the legend
LEAST_AXES = 0.4    # inches of the height, with the names of the axis
ROOM_OF_AXES = {"auto": 1, "inside": 0.6}  # how much of the height of the axes may be names
NAMES_SHORTENED = (LEGEND_NAME, 26, 18, 12)  # letters, tried in turn
LINE = 1.25         # distance of lines of text, in sizes of the font


def chosen(options):
    """The style of figures that these options ask for. Raises ResultsError for a font that is not there."""
    look = STYLES[options.style or SCREEN.name]
    settings_ = dict(look.settings)
    if options.dpi:
        settings_["figure.dpi"] = options.dpi
    if options.font:
        settings_["font.family"] = [_installed(options.font), FONT]  # letters that the font has not are of the second one
    width = options.width or {1: look.width, 2: look.wide}.get(options.columns)
    return replace(look, settings=settings_, width=width or look.width, wide=width or look.wide, height=options.height or 0,
                   legend=options.legend or look.legend, has_warnings=not options.no_warnings)


def _installed(font):
    try:
        font_manager.findfont(FontProperties(family=[font]), fallback_to_default=False)
    except ValueError:
        near = difflib.get_close_matches(font, sorted({one.name for one in font_manager.fontManager.ttflist}), 4, 0.3)
        raise ResultsError(f"the font '{font}' is not installed; use {', '.join(near or [FONT])}") from None
    return font


@dataclass(frozen=True)
class End:
    """The end of a curve, at which its name may stand."""

    axes: object
    x: float
    y: float
    label: str
    colour: str


class Canvas:
    """Makes the figures of one report, all in one style and with one palette."""

    def __init__(self, palette, style=SCREEN):
        self.palette, self.style = palette, style
        self.hover = []  # (axes, x, y, text) of the figure that is being drawn
        self.ends = []   # where its curves end

    def figure(self, height, width=None):
        """`height` is that of a page's figure in inches; a column of a paper is less wide and less high."""
        self.hover, self.ends = [], []
        if self.style.is_paper:
            height *= 0.62
        made = Figure(figsize=(width or self.style.width, height), layout="constrained")
        FigureCanvasAgg(made)  # measures texts
        made.get_layout_engine().set(w_pad=0.03, h_pad=0.03)
        return made

    def line(self, candidate):
        return {"markersize": self.style.marker * (LARGER if FILLS.get(candidate.transport) else 1), **self.palette.line(candidate)}

    def sign(self, sign, colour):
        """A letter at a point, or a marker, for Axes.plot."""
        return {"linestyle": "none", "marker": sign, "color": colour, "markersize": self.style.marker * 1.5,
                "markeredgewidth": 1.1 if sign == "x" else 0}

    def point_out(self, axes, x, y, text):
        """Adds the text that hovering over this place shows."""
        self.hover.append((axes, x, y, text))

    def name_end(self, axes, x, y, label, colour):
        """Lets finish() write the legend's `label` at the end of a curve instead."""
        self.ends.append(End(axes, x, y, label, colour))

    def room_for(self, boxes, names=("",)):
        """The width in inches of a table with this number of boxes in a row, and names before the rows: what it needs; all of a paper's page."""
        needed = 0.49 * boxes + 0.085 * max(len(line) for name in names for line in name.split("\n")) + 0.3
        return self.style.wide if self.style.is_paper else min(self.style.wide, max(self.style.width, needed))

    def finish(self, figure, title, details, marks, legend=None, key=""):
        """Writes the words around a figure: the title above, legend, `key` (what letters and numbers mean) and warnings below.
        `legend` has handles and labels. The layout does not change after it."""
        entries = list(zip(*legend)) if legend else []
        if self.style.height:
            figure.set_figheight(self.style.height)
        frame = Frame(figure, self.style)
        frame.write_title(title, details)
        frame.write_below(f"! {' · '.join(_unbroken(mark) for mark in marks)}" if marks and self.style.has_warnings else "", WARN)
        frame.write_below(key, SOFT)
        place = self._place_of_legend(frame, [label for _, label in entries])
        named = place == "ends"
        if named:
            ends = {end.label for end in self.ends}
            entries = [entry for entry in entries if entry[1] not in ends]
        if entries and place == "right":
            frame.put_legend_right(entries)
        elif entries and place in ("below", "ends"):
            frame.put_legend_below(entries)
        if named:
            frame.right = max(frame.width_of(end.label, frame.font) for end in self.ends) / 72 + 0.14
        frame.lay_out()
        if named:
            self._write_names(figure, frame)
        elif entries and place == "inside":
            frame.put_legend_inside(self.ends[0].axes, entries)
        return figure

    def _place_of_legend(self, frame, names):
        """Where the names of curves stand: as the style says if there is room, else below."""
        place = self.style.legend
        if place not in ("auto", "inside"):
            return place
        if place == "auto":
            names = [end.label for end in self.ends] if len({end.axes for end in self.ends}) == 1 else []
        has_room = self.ends and names and frame.has_room(names, ROOM_OF_AXES[place])
        return "below" if not has_room else "ends" if place == "auto" else place

    def _write_names(self, figure, frame):
        """Writes the names of curves to the right of their ends, one below the other, each as near to its end as the others let it."""
        axes = self.ends[0].axes
        low, high = axes.get_ylim()
        to_figure = axes.transData + figure.transFigure.inverted()
        found = sorted(((*to_figure.transform((end.x, min(max(end.y, low), high))), end) for end in self.ends), key=lambda one: one[1])
        line = LINE * frame.font / 72 / figure.get_figheight()
        box = axes.bbox.transformed(figure.transFigure.inverted())
        begin = box.x1 + 0.1 / figure.get_figwidth()
        for (x, y, end), place in zip(found, _spread([y for _, y, _ in found], line, box.y0, box.y1)):
            if abs(place - y) > line / 3 or box.x1 - x > box.width / 20:
                figure.add_artist(Line2D((x, begin - 0.02 / figure.get_figwidth()), (y, place), color=end.colour, linewidth=0.5))
            axes.text(begin, place, end.label, va="center_baseline", color=end.colour, fontsize=frame.font, transform=figure.transFigure)


class Frame:
    """The words around the axes of a figure. What is written below grows upwards. Lengths are in inches."""

    def __init__(self, figure, style):
        self.figure, self.style = figure, style
        self.font = style.settings["legend.fontsize"]
        self.above, self.below, self.right = 0.0, 0.0, 0.0
        self._texts = []  # (text, inches from the lower edge), placed once the height is known

    def width_of(self, words, size):
        """In points."""
        return self.figure.canvas.get_renderer().get_text_width_height_descent(words, FontProperties(size=size), False)[0] * 72 / self.figure.dpi

    def has_room(self, names, share):
        """Whether the names fit, one below the other, into this share of the height of the axes and into a part of the width."""
        room = 72 * share * (self.figure.get_figheight() - self.above - self.below - AROUND_AXES)
        return (len(names) * LINE * self.font <= room
                and max(self.width_of(name, self.font) for name in names) <= MOST_NAMES * 72 * self.figure.get_figwidth())

    def write_title(self, title, details):
        if not self.style.has_title:
            return
        letters = int(self.figure.get_figwidth() * self.style.letters)
        size, small = self.style.settings["axes.titlesize"], self.style.small + 0.4
        self.above = 2 / 72
        for lines, look in ((textwrap.wrap(title, letters, break_on_hyphens=False)[:3], {"fontweight": "bold", "fontsize": size}),
                            (textwrap.wrap(details, int(letters * 1.25), break_on_hyphens=False)[:2], {"color": SOFT, "fontsize": small})):
            self._texts.append((self.figure.text(0.01, 1, "\n".join(lines), va="top", **look), -self.above))
            self.above += (4 + 1.22 * look["fontsize"] * len(lines)) / 72

    def write_below(self, words, colour):
        if not words:
            return
        small = self.style.small
        lines = [line.strip("· ") for line in self._folded(words, small, 72 * self.figure.get_figwidth() * 0.98)]
        text = self.figure.text(0.995, 0, "\n".join(lines).replace("\u00a0", " "), va="bottom", ha="right", color=colour, fontsize=small,
                                linespacing=1.15)
        self._texts.append((text, self.below + 0.02))
        self.below += (0.25 + 1.15 * len(lines)) * small / 72

    def put_legend_below(self, entries):
        """The legend has as many columns as fit; where it would be too high, its names are shortened, and then the figure grows."""
        before = self.figure.get_figheight()
        for letters in NAMES_SHORTENED:
            made = self._legend(entries, letters)
            width, height = self._size_of(made)
            grown = before + max(height - 2 * 1.52 * self.font / 72, 0)
            if width <= self.figure.get_figwidth() - 0.04 and height <= MOST_LEGEND * (self.style.height or grown):
                break
            if letters != NAMES_SHORTENED[-1]:
                made.remove()
        if not self.style.height:
            self.figure.set_figheight(max(grown, height / MOST_LEGEND))
        self._texts.append((made, self.below))
        self.below += height + 3 / 72

    def put_legend_right(self, entries):
        for letters in NAMES_SHORTENED:
            made = self._legend(entries, letters, most=1, place="center right")
            width, height = self._size_of(made)
            if width <= MOST_LEGEND * self.figure.get_figwidth():
                break
            if letters != NAMES_SHORTENED[-1]:
                made.remove()
        if not self.style.height:
            self.figure.set_figheight(max(self.figure.get_figheight(), height + self.above + self.below + 0.1))
        self.right = width + 0.09
        self._texts.append((made, None))

    def put_legend_inside(self, axes, entries):
        """Where it covers the least of the curves."""
        axes.legend(*zip(*entries), loc="best", frameon=True, framealpha=0.8, edgecolor="none", borderpad=0.2)

    def _legend(self, entries, letters, most=8, place="lower center"):
        handles, labels = zip(*((handle, shortened(label, letters)) for handle, label in entries))
        for columns in range(min(len(entries), most), 0, -1):
            rows = -(-len(entries) // columns)
            made = self.figure.legend(handles, labels, loc=place, ncols=-(-len(entries) // rows), borderaxespad=0, borderpad=0.1)
            if columns == 1 or self._size_of(made)[0] <= self.figure.get_figwidth() - 0.04:
                break
            made.remove()
        return made

    def _size_of(self, legend):
        box = legend.get_window_extent(self.figure.canvas.get_renderer())
        return box.width / self.figure.dpi, box.height / self.figure.dpi

    def _folded(self, words, size, room):
        """Lines of at most `room` points."""
        lines = [""]
        for word in words.split(" "):
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and self.width_of(longer, size) > room:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def lay_out(self):
        width, height = self.figure.get_size_inches()
        for text, up in self._texts:
            if up is None:
                text.set_bbox_to_anchor((1 - 0.03 / width, (self.below + (height - self.above - self.below) / 2) / height), self.figure.transFigure)
            elif hasattr(text, "set_bbox_to_anchor"):
                text.set_bbox_to_anchor((0.5, up / height), self.figure.transFigure)
            else:
                text.set_y(up / height if up >= 0 else 1 + up / height)
        engine = self.figure.get_layout_engine()
        engine.set(rect=(0, self.below / height, 1 - self.right / width, 1 - (self.above + self.below) / height))
        with warnings.catch_warnings():
            if self.style.height:
                warnings.filterwarnings("error", message="constrained_layout not applied")
            try:
                if height - self.above - self.below < LEAST_AXES:
                    raise UserWarning
                engine.execute(self.figure)  # once is enough; savefig would do it again
            except UserWarning:
                raise ResultsError(f"a figure of {width:.3g} x {height:.3g} inches has no room for its axes; use a larger --height") from None
        self.figure.set_layout_engine("none")


def _unbroken(words):
    return words.replace(" ", "\u00a0")


def _spread(wanted, distance, low, high):
    """Places as near to the wanted ones (in rising order) as a least distance lets them be, between low and high."""
    places = []
    for want in wanted:
        places.append(max(want, places[-1] + distance if places else low + distance / 2))
    most = high - distance / 2
    for number in reversed(range(len(places))):
        places[number] = min(places[number], most)
        most = places[number] - distance
    return places


def settings(style=SCREEN):
    """Figures are made under these, so that defaults of this machine do not matter."""
    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **style.settings})


def shortened(name, letters=LEGEND_NAME):
    """A name for a legend, which leaves out what begins with _; the table has all of it."""
    name = f" {name}" if name.startswith("_") else name
    return name if len(name) <= letters else name[:letters - 1] + "…"


def wrapped(names, letters):
    """Whole names for rows, in lines of this many letters, and how many times as high the rows must be."""
    names = ["\n".join(line.strip("· ") for line in textwrap.wrap(name, letters, break_on_hyphens=False)) for name in names]
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
