# SPDX-License-Identifier: Apache-2.0
"""The decision map: the fastest algorithm at each size, for each collective, number of ranks and kind of memory."""

from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from . import boxes, signs, style, ticks
from .candidates import library_name
from .drawing import Drawing
from .naming import key_of
from .palette import FILLS
from .shapes import SHORT, distinguishing
from .reliability import DISTURBED, TIED, UNKNOWN, is_doubted, merged
from .units import interval_text, ratio_text, size_text

COLUMNS = ("row", "bytes", "winner", "library", "gain", "low", "high", "launches", "significant")
MOST_ROWS = 48
NUMBER = 0.62  # share of a box, next to the marker
DARK = 0.75    # how strong the colour is where the library wins
# In the legend of the map.
MEANINGS = {TIED: "tied with the library", signs.NOT_MEASURED: "library not measured"}


def choices_of(section):
    return [section.choice(size) for size in section.sizes]


def drawing(sections):
    """One map of all sections; None where nothing competes."""
    found = [section for section in sections if len(section.candidates) > 1]
    if not found:
        return None
    left, found = found[MOST_ROWS:], found[:MOST_ROWS]
    names = distinguishing([section.shape for section in found], SHORT)
    libraries = sorted({section.library.label for section in found if section.library})
    over = f"the library's ({', '.join(libraries)})" if libraries else "the library's"
    all_choices = [(section, choice) for section in found for choice in choices_of(section)]
    said = ["Colour and marker show the fastest algorithm. In a dark box the library is fastest, and the number is that of the best candidate.",
            f"{TIED}: statistically tied with the library."]
    if any(choice.is_unknown for _, choice in all_choices):
        said.append(f"{UNKNOWN}: too few calls for an interval.")
    if any(choice.winner_disturbed or choice.library_disturbed for _, choice in all_choices):
        said.append(f"{DISTURBED}: other programs used the cores during the winner's calls or the library's.")
    if any(_why_no_gain(section, choice) == signs.NOT_MEASURED for section, choice in all_choices):
        said.append(f"{signs.NOT_MEASURED}: the library was not measured at this size.")
    doubted = [names[section.shape] for section in found if is_doubted(section)]
    if doubted:
        said.append(f"Unreliable rows: {'; '.join(doubted) if len(doubted) < len(found) else 'all'}.")
    if left:
        said.append(f"{len(left)} more rows are in the sections below.")
    made = Drawing("decisions", "all", "Fastest algorithm, and how many times as fast as the library it is",
                   f"number: {over} time / best time", " ".join(said), None, COLUMNS,
                   lambda: [row for section in found for row in _data(section, names[section.shape])],
                   [point for section in found for point in section.points], merged(found), is_wide=True)
    if len({section.shape.setup for section in found}) > 1:
        made.key = key_of(section.shape.setup for section in found)
    made.draw = lambda canvas: _draw(found, names, made, canvas)
    return made


def _data(section, name):
    for choice in choices_of(section):
        gain = choice.gain
        yield (name, choice.size, choice.winner.name, section.library.name if section.library else "",
               *((gain.value, gain.low, gain.high, gain.launches) if gain else [""] * 4), choice.is_significant)


def _draw(sections, names, drawing_, canvas):
    sizes = sorted({size for section in sections for size in section.sizes})
    rows, higher, width = boxes.rows(canvas, [names[section.shape] for section in sections], len(sizes))
    found = [_Box(sizes.index(choice.size), y, section, choice) for y, section in enumerate(sections) for choice in choices_of(section)]
    made = canvas.figure(1.6 + 0.3 * higher * len(sections), width)
    if not canvas.style.has_title:
        made.set_figheight(0.75 + 0.2 * higher * len(sections))
    axes = made.add_subplot()
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(len(sections) - 0.5, -0.5)
    boxes.frame(axes, sizes, rows)
    canvas.finish(made, drawing_.title, drawing_.details, drawing_.marks, _legend(found, canvas), key=drawing_.key)
    ticks.thin(axes)
    has_room = boxes.has_room(axes, [box.text for box in found], canvas, NUMBER)
    for box in found:
        box.draw(axes, canvas, has_room)
        canvas.point_out(axes, box.x, box.y, _tip(box.section, box.choice, names[box.section.shape]))
    return made


def _legend(found, canvas):
    """(handles, labels) of the winners, of the boxes in which the library wins, and of the signs."""
    winners = {_name(box.choice.winner): canvas.palette.sign(box.choice.winner) for box in found if box.choice.is_significant}
    handles, labels = [Line2D([], [], markersize=1.6 * canvas.style.marker, **look) for look in winners.values()], list(winners)
    library = next((box.choice.winner for box in found if box.is_library), None)
    if library:
        handles.append(Patch(facecolor=canvas.palette.colour(library), alpha=DARK))
        labels.append("the library wins")
    more_handles, more_labels = signs.explain([box.text for box in found], canvas, MEANINGS)
    return handles + more_handles, labels + more_labels


def _name(winner):
    """With the transport where that is not the usual one, as the marker shows by how it is filled."""
    named = winner.names.part
    name = named(winner.algorithm) + (f" · {named(winner.transport)}" if winner.transport in FILLS else "")
    return f"[{name}]" if winner.is_baseline else name


@dataclass(frozen=True)
class _Box:
    x: int
    y: int
    section: object
    choice: object

    @property
    def is_library(self):
        return self.choice.is_significant and self.choice.winner == self.section.library

    @property
    def text(self):
        choice = self.choice
        dagger = DISTURBED if choice.winner_disturbed or choice.library_disturbed else ""
        if choice.is_significant:
            return (ratio_text(choice.gain.value) if choice.gain else _why_no_gain(self.section, choice)) + dagger
        if choice.gain:
            return f"{ratio_text(choice.gain.value)}{dagger} {UNKNOWN}" if choice.is_unknown else TIED + dagger
        return (_why_no_gain(self.section, choice) or (UNKNOWN if choice.unknown else TIED)) + dagger

    def draw(self, axes, canvas, has_room):
        """Without room the signs remain of the text."""
        text = self.text if has_room else "".join(sign for sign in self.text if sign in signs.MEANINGS)
        if not self.choice.is_significant:
            axes.add_patch(Rectangle((self.x - 0.47, self.y - 0.43), 0.94, 0.86, facecolor="white", edgecolor="#b5bbc3", linewidth=0.6,
                                     linestyle=(0, (2, 2))))
            axes.text(self.x, self.y, text, ha="center", va="center_baseline", fontsize=canvas.style.small, color=style.SOFT)
            return
        colour = canvas.palette.colour(self.choice.winner)
        axes.add_patch(Rectangle((self.x - 0.47, self.y - 0.43), 0.94, 0.86, facecolor=colour, alpha=DARK if self.is_library else 0.2, edgecolor="none"))
        white = dict.fromkeys(("color", "markeredgecolor", "markerfacecolor"), "white") if self.is_library else {}
        axes.plot(self.x - 0.30 * bool(text), self.y, markersize=canvas.style.marker * 1.15, **canvas.palette.sign(self.choice.winner) | white)
        if text:
            axes.text(self.x + 0.12, self.y, text, ha="center", va="center", fontsize=canvas.style.small, color="white" if self.is_library else style.INK)


def _why_no_gain(section, choice):
    """Why there is no ratio to the library; "" where nothing competes with it, or there is none."""
    if choice.winner == section.library or not section.library:
        return ""
    return UNKNOWN if section.cell(section.library, choice.size) else signs.NOT_MEASURED


def _tip(section, choice, name):
    gain = choice.gain
    said = f"{name}, {size_text(choice.size)}: {choice.winner.name}"
    if gain and choice.winner != section.library:
        library = library_name(section.library, section.shape.coll)
        said += f", {ratio_text(gain.value)}× as fast as {library} {interval_text(gain)}"
    elif gain:
        said += f"; the best other is {ratio_text(gain.value)}× as fast {interval_text(gain)}"
    disturbed = [who for who, is_so in (("winner", choice.winner_disturbed), ("library", choice.library_disturbed)) if is_so]
    said += f"; {DISTURBED} {' and '.join(disturbed)}" if disturbed else ""
    return said + ("" if choice.is_significant else " (too few calls)" if choice.is_unknown else " (statistically tied)")
