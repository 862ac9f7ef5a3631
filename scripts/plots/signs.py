# SPDX-License-Identifier: Apache-2.0
"""Signs in figures and their legend: at the points of curves at most three marks, then how markers of transports are filled."""

import math
from dataclasses import dataclass

import numpy
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from . import style
from .palette import DOUBTED_GREY, FILLS, filled
from .reliability import DISTURBED as DAGGER
from .reliability import TIED, UNKNOWN

DISTURBED, BEYOND, CONTINUES = "disturbed", "lower bound invalid", "interval continues"
MOST_DISTURBED, MOST_FEW = "† most points disturbed", "? most points of few calls"
MOST = 0.5
BANDS = {MOST_DISTURBED: "#fdeee2", MOST_FEW: "#dee8f4"}
FEW = 3  # signs at one size that hide no line
NOT_MEASURED = "–"
MEANINGS = {TIED: "statistically tied", UNKNOWN: "too few calls", DAGGER: "disturbed: busy cores", NOT_MEASURED: "not measured"}
# The legend's order: meaning, sign and colour.
LEGEND = ((MEANINGS[DAGGER], style.DAGGER, style.WARN), (BEYOND, "x", style.WARN), (MEANINGS[UNKNOWN], style.QUESTION, style.SOFT),
          (CONTINUES, style.UP, style.SOFT))
# Places of a sign around its point, in sizes of the sign, the best first.
_NEAR = ((0.55, 0.85), (0, 1), (-0.55, 0.85), (1, 0), (-1, 0), (0, -1), (0.85, -0.85), (-0.85, -0.85))
_FAR = sorted(((1.1 * across, 1.1 * up) for across in range(-4, 5) for up in range(-4, 5) if across or up), key=lambda place: math.hypot(*place))
AROUND = (*_NEAR, *_FAR)
BELOW_END, ABOVE_END = (tuple((across, side * (0.55 + inwards)) for inwards in range(3) for across in (0, 1, -1)) for side in (-1, 1))


@dataclass(frozen=True)
class Sign:
    """A letter or a cross for a point; `places` are where it may stand, relative to the point."""

    meaning: str
    letter: object
    x: float
    y: float
    colour: str
    places: tuple


def draw(axes, plot, canvas):
    """Draws the bands, once the axes have their limits. Returns (handles, labels) of the bands and of all signs."""
    found = _draw_bands(axes, plot) if canvas.style.has_warnings else []
    used = {sign.meaning for sign in _signs(axes, plot, canvas)}
    found += [(Line2D([], [], **canvas.sign(letter, colour)), meaning) for meaning, letter, colour in LEGEND if meaning in used]
    found += _transports([curve for curve, _ in _points(plot)], canvas)
    return [handle for handle, _ in found], [label for _, label in found]


def put_all(axes, plot, canvas):
    """Draws the signs of the points, once the layout is known."""
    put(axes, _signs(axes, plot, canvas), [(mark.x, mark.value) for _, mark in _points(plot)], canvas)


def put_arrows(axes, plot, canvas):
    """Draws the signs of intervals that leave the axes, and no others, once the layout is known."""
    put(axes, cut_intervals(axes, plot, canvas), [(mark.x, mark.value) for _, mark in _points(plot)], canvas)


def put(axes, signs, points, canvas):
    """Draws each sign inside the axes where it covers the least."""
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())  # the signs do not change them
    pixels = axes.figure.dpi / 72
    size, frame = 1.5 * canvas.style.marker * pixels, axes.bbox
    points = _Covered((*axes.transData.transform(point), *[canvas.style.marker * pixels] * 2) for point in points)
    taken = _Covered((*(box.min + box.max) / 2, *box.size) for box in (text.get_window_extent() for text in axes.texts))
    for sign in signs:
        origin = axes.transData.transform((sign.x, sign.y))

        def cost(place, origin=origin):
            x, y = origin + size * numpy.array(place)
            outside = abs(x - frame.x0 - frame.width / 2) > (frame.width - size) / 2 or abs(y - frame.y0 - frame.height / 2) > (frame.height - size) / 2
            return outside, taken.count(x, y, size), points.count(x, y, size)
        place = next((place for place in sign.places if not any(cost(place))), None) or min(sign.places, key=cost)
        taken.add((*origin + size * numpy.array(place), size, size))
        shift = ScaledTranslation(*(step * size / pixels / 72 for step in place), axes.figure.dpi_scale_trans)
        axes.plot([sign.x], [sign.y], transform=axes.transData + shift, zorder=5, clip_on=False, **canvas.sign(sign.letter, sign.colour))


class _Covered:
    """Boxes by their middles and sizes, in pixels."""

    def __init__(self, boxes):
        self.boxes = numpy.array(list(boxes), dtype=float).reshape(-1, 4)

    def add(self, box):
        self.boxes = numpy.vstack((self.boxes, box))

    def count(self, x, y, size):
        """Counts the boxes that a square overlaps."""
        across, up, width, height = self.boxes.T
        return int(numpy.sum((abs(across - x) < (width + size) / 2) & (abs(up - y) < (height + size) / 2)))


def explain(texts, canvas, changed=()):
    """(handles, labels) of the signs in these texts; `changed` meanings replace the usual ones."""
    meanings = {sign: meaning for sign, meaning in (MEANINGS | dict(changed)).items() if any(sign in text for text in texts)}
    return [Line2D([], [], **canvas.sign(style.LETTERS[sign], style.SOFT)) for sign in meanings], list(meanings.values())


def _points(plot):
    """(curve, mark) of all measured points in front."""
    return [(curve, mark) for curve in plot.curves if curve.in_front and curve.candidate for mark in curve.marks]


def _signs(axes, plot, canvas):
    """All signs that are no bands, those with the least choice of a place first."""
    bands, near = _bands_of(plot), []
    yield from cut_intervals(axes, plot, canvas)
    for curve, mark in _points(plot):
        colour = canvas.palette.colour(curve.candidate)
        if mark.flag == BEYOND:
            yield Sign(BEYOND, "x", mark.x, mark.value, style.WARN, ((0, 0),))
        if mark.flag == DISTURBED and bands.get(mark.x) != MOST_DISTURBED:
            near.append(Sign(MEANINGS[DAGGER], style.DAGGER, mark.x, mark.value, style.WARN, AROUND))
        if mark.is_unknown and bands.get(mark.x) != MOST_FEW:
            near.append(Sign(MEANINGS[UNKNOWN], style.QUESTION, mark.x, mark.value, colour, AROUND))
    yield from near


def cut_intervals(axes, plot, canvas):
    """The signs of all intervals that leave the axes."""
    for curve, mark in _points(plot):
        if mark.low is not None:
            yield from arrows(axes, mark.x, mark.low, mark.high, DOUBTED_GREY if plot.is_doubted else canvas.palette.colour(curve.candidate))


def arrows(axes, x, low, high, colour):
    """The signs of an interval that leaves the axes."""
    bottom, top = axes.get_ylim()
    if high > top:
        yield Sign(CONTINUES, style.UP, x, top, colour, BELOW_END)
    if low < bottom:
        yield Sign(CONTINUES, style.DOWN, x, bottom, colour, ABOVE_END)


def _bands_of(plot):
    """{size: why} where most points are disturbed or have too few calls: signs at each of them would hide the lines."""
    at, bands = {}, {}
    for _, mark in _points(plot):
        at.setdefault(mark.x, []).append(mark)
    for x, there in at.items():
        for why, found in ((MOST_DISTURBED, [mark.flag == DISTURBED for mark in there]), (MOST_FEW, [mark.is_unknown for mark in there])):
            if x not in bands and sum(found) >= FEW and sum(found) > MOST * len(found):
                bands[x] = why
    return bands


def _draw_bands(axes, plot):
    bands = _bands_of(plot)
    if not bands:
        return []
    limits, places = axes.get_xlim(), sorted({mark.x for curve in plot.curves for mark in curve.marks})
    edges = [limits[0], *(math.sqrt(low * high) if low > 0 else high / 2 for low, high in zip(places, places[1:])), limits[1]]
    for place, low, high in zip(places, edges, edges[1:]):
        if place in bands:
            axes.axvspan(low, high, color=BANDS[bands[place]], linewidth=0, zorder=0.5)
    axes.set_xlim(limits)
    return [(Patch(facecolor=colour), why) for why, colour in BANDS.items() if why in bands.values()]


def _transports(curves, canvas):
    used = [transport for transport in FILLS if any(curve.candidate.transport == transport for curve in curves)]
    return [(Line2D([], [], linestyle="none", marker="o", markersize=canvas.style.marker, color=style.SOFT,
                    **filled(FILLS[transport], style.SOFT)), f"marker of {curves[0].candidate.names.part(transport)}") for transport in used]
