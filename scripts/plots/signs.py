# SPDX-License-Identifier: Apache-2.0
"""Signs at the points of curves, and their legend: at most three marks, then how markers of transports are filled."""

import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from . import style
from .palette import DOUBTED_GREY, FILLS

DISTURBED, BEYOND = "disturbed", "lower bound invalid"
MOST_DISTURBED, MOST_FEW = "† most points of the size disturbed", "? most points of the size have too few calls"
MOST = 0.5
BAND = "#fdeee2"
FEW = 3  # signs at one size that hide no line


def draw(axes, plot, canvas):
    """Once the axes have their limits; returns (handles, labels) of the signs that were used."""
    curves = [curve for curve in plot.curves if curve.in_front and curve.candidate]
    marks = [(mark, canvas.palette.colour(curve.candidate)) for curve in curves for mark in curve.marks]
    bands = _mostly_in_doubt([mark for mark, _ in marks])
    found = _bands(axes, plot, bands)
    found += _signs(axes, [mark for mark, _ in marks if mark.flag == DISTURBED and bands.get(mark.x) != MOST_DISTURBED], style.DAGGER, "other programs used the cores", canvas, above=1)
    found += _signs(axes, [mark for mark, _ in marks if mark.flag == BEYOND], "x", BEYOND, canvas)
    for mark, colour in marks:
        if mark.is_unknown:
            _put(axes, [mark.x], [mark.value], canvas.sign(style.QUESTION, colour), above=canvas.style.marker * 1.7)
    found += [(Line2D([], [], **canvas.sign(style.QUESTION, style.SOFT)), "too few calls")] * any(mark.is_unknown for mark, _ in marks)
    found += _cut(axes, [(mark, DOUBTED_GREY if plot.is_doubted else colour) for mark, colour in marks if mark.low is not None], canvas)
    found += _transports(curves, canvas)
    return [handle for handle, _ in found], [label for _, label in found]


def _mostly_in_doubt(marks):
    """{size: why} where most points are disturbed or have too few calls: signs at each of them would hide the lines."""
    at, bands = {}, {}
    for mark in marks:
        at.setdefault(mark.x, []).append(mark)
    for x, there in at.items():
        for why, found in ((MOST_DISTURBED, [mark.flag == DISTURBED for mark in there]), (MOST_FEW, [mark.is_unknown for mark in there])):
            if x not in bands and sum(found) >= FEW and sum(found) > MOST * len(found):
                bands[x] = why
    return bands


def _bands(axes, plot, bands):
    if not bands:
        return []
    limits, places = axes.get_xlim(), sorted({mark.x for curve in plot.curves for mark in curve.marks})
    edges = [limits[0], *(math.sqrt(low * high) if low > 0 else high / 2 for low, high in zip(places, places[1:])), limits[1]]
    for place, low, high in zip(places, edges, edges[1:]):
        if place in bands:
            axes.axvspan(low, high, color=BAND, linewidth=0, zorder=0.5)
    axes.set_xlim(limits)
    return [(Patch(facecolor=BAND), " or ".join(why for why in (MOST_DISTURBED, MOST_FEW) if why in bands.values()))]


def _signs(axes, marks, sign, label, canvas, above=0):
    if not marks:
        return []
    look = canvas.sign(sign, style.WARN)
    _put(axes, [mark.x for mark in marks], [mark.value for mark in marks], look, above * canvas.style.marker * 1.5, above * canvas.style.marker * 0.8)
    return [(Line2D([], [], **look), label)]


def _cut(axes, marks, canvas):
    """Arrowheads where an interval goes on beyond the axis."""
    (bottom, top), cut = axes.get_ylim(), False
    for mark, colour in marks:
        for end, sign, is_out in ((top, style.UP, mark.high > top), (bottom, style.DOWN, mark.low < bottom)):
            if is_out:
                _put(axes, [mark.x], [end], canvas.sign(sign, colour))
                cut = True
    return [(Line2D([], [], **canvas.sign(style.UP, style.SOFT)), "interval continues")] if cut else []


def _transports(curves, canvas):
    used = [transport for transport in FILLS if any(curve.candidate.transport == transport for curve in curves)]
    return [(Line2D([], [], linestyle="none", marker="o", markersize=canvas.style.marker, color=style.SOFT, fillstyle=FILLS[transport],
                    markerfacecoloralt="white"), f"marker of {transport}") for transport in used]


def _put(axes, xs, ys, look, above=0, right=0):
    """Draws signs shifted upwards and to the right, in points."""
    shifted = axes.transData + ScaledTranslation(right / 72, above / 72, axes.figure.dpi_scale_trans)
    axes.plot(xs, ys, transform=shifted, zorder=5, clip_on=False, **look)
