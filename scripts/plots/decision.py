# SPDX-License-Identifier: Apache-2.0
"""The decision map: the fastest algorithm at each size, for each collective, number of ranks and kind of memory."""

from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from . import style
from .candidates import library_name
from .drawing import Drawing
from .heatmap import plain
from .palette import FILLS
from .shapes import SHORT, distinguishing
from .reliability import DISTURBED, TIED, UNKNOWN, is_doubted, merged
from .units import interval_text, ratio_text, size_text

COLUMNS = ("row", "bytes", "winner", "library", "gain", "low", "high", "launches", "significant")
MOST_ROWS = 48
NO_LIBRARY = "no\nlibrary"  # in a box instead of a number


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
    said = ["The colour and the marker show the fastest algorithm; in a dark box the library wins, and its number is the best other one's speed.",
            f"{TIED}: statistically tied with the library."]
    if any(choice.is_unknown for _, choice in all_choices):
        said.append(f"{UNKNOWN}: too few calls for an interval.")
    if any(choice.winner_disturbed or choice.library_disturbed for _, choice in all_choices):
        said.append(f"{DISTURBED}: other programs used the cores (in the corner: during the winner's calls; next to the number: the library's).")
    if any(_why_no_gain(section, choice) == NO_LIBRARY for section, choice in all_choices):
        said.append("no library: it was not measured at this size.")
    doubted = [names[section.shape] for section in found if is_doubted(section)]
    if doubted:
        said.append(f"Unreliable rows: {'; '.join(doubted) if len(doubted) < len(found) else 'all'}.")
    if left:
        said.append(f"{len(left)} more rows are in the sections below.")
    made = Drawing("decisions", "all", "Fastest algorithm, and how many times as fast as the library it is",
                   f"number: {over} time / best time", " ".join(said), None, COLUMNS,
                   lambda: [row for section in found for row in _data(section, names[section.shape])],
                   [point for section in found for point in section.points], merged(found), is_wide=True)
    made.draw = lambda canvas: _draw(found, names, made, canvas)
    return made


def _data(section, name):
    for choice in choices_of(section):
        gain = choice.gain
        yield (name, choice.size, choice.winner.name, section.library.name if section.library else "",
               *((gain.value, gain.low, gain.high, gain.launches) if gain else [""] * 4), choice.is_significant)


def _draw(sections, names, drawing_, canvas):
    sizes = sorted({size for section in sections for size in section.sizes})
    rows, higher = style.wrapped([names[section.shape] for section in sections], 48)
    choices = [(y, section, choice) for y, section in enumerate(sections) for choice in choices_of(section)]
    legend = _legend([choice for _, _, choice in choices], canvas)
    made = canvas.figure(1.6 + 0.3 * higher * len(sections), canvas.room_for(len(sizes), rows))
    if not canvas.style.has_title:
        made.set_figheight(0.75 + 0.2 * higher * len(sections))
    axes = made.add_subplot()
    for y, section, choice in choices:
        _box(axes, sizes.index(choice.size), y, section, choice, canvas, names[section.shape])
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(len(sections) - 0.5, -0.5)
    axes.set_xticks(range(len(sizes)), [size_text(size) for size in sizes])
    axes.set_yticks(range(len(sections)), rows)
    plain(axes)
    axes.set_xlabel("message size (bytes, K = 1024)")
    return canvas.finish(made, drawing_.title, drawing_.details, drawing_.marks, legend)


def _legend(choices, canvas):
    """(handles, labels) of the winners, and of the sign for what is unknown."""
    looks = {_name(winner): canvas.palette.sign(winner) for winner in (choice.winner for choice in choices if choice.is_significant)}
    handles = [Line2D([], [], markersize=1.6 * canvas.style.marker, **look) for look in looks.values()]
    unknown = any(choice.is_unknown for choice in choices)
    return (handles + [Line2D([], [], **canvas.sign(style.QUESTION, style.SOFT))] * unknown, [*looks] + ["too few calls"] * unknown)


def _name(winner):
    """With the transport where that is not the usual one, as the marker shows by how it is filled."""
    name = f"{winner.algorithm} · {winner.transport}" if winner.transport in FILLS else winner.algorithm
    return f"[{name}]" if winner.is_baseline else name


def _box(axes, x, y, section, choice, canvas, name):
    library = section.library
    canvas.point_out(axes, x, y, _tip(section, choice, name))
    dagger = DISTURBED if choice.library_disturbed and choice.winner != library else ""
    if choice.winner_disturbed:
        axes.text(x - 0.42, y - 0.42, DISTURBED, ha="left", va="top", fontsize=canvas.style.small,
                  color="white" if choice.winner == library and choice.is_significant else style.INK)
    if not choice.is_significant:
        axes.add_patch(Rectangle((x - 0.47, y - 0.43), 0.94, 0.86, facecolor="white", edgecolor="#b5bbc3", linewidth=0.6,
                                 linestyle=(0, (2, 2))))
        text = _why_white(section, choice, dagger)
        size = canvas.style.small * (0.8 if "\n" in text else 1)
        axes.text(x, y, text, ha="center", va="center_baseline", fontsize=size, color=style.SOFT, linespacing=0.85)
        return
    colour = canvas.palette.colour(choice.winner)
    is_library = choice.winner == library
    axes.add_patch(Rectangle((x - 0.47, y - 0.43), 0.94, 0.86, facecolor=colour, alpha=0.75 if is_library else 0.2, edgecolor="none"))
    white = dict.fromkeys(("color", "markeredgecolor", "markerfacecolor"), "white") if is_library else {}
    axes.plot(x - 0.30, y, markersize=canvas.style.marker * 1.15, **canvas.palette.sign(choice.winner) | white)
    text = ratio_text(choice.gain.value) if choice.gain else _why_no_gain(section, choice)
    axes.text(x + 0.12, y, text + dagger, ha="center", va="center", fontsize=canvas.style.small,
              color="white" if is_library else style.INK)


def _why_white(section, choice, dagger):
    if choice.gain:
        return f"{ratio_text(choice.gain.value)}{dagger} ?" if choice.is_unknown else f"{TIED}{dagger}"
    return _why_no_gain(section, choice) or (UNKNOWN if choice.unknown else TIED)


def _why_no_gain(section, choice):
    """Why there is no ratio to the library; "" where nothing competes with it, or there is none."""
    if choice.winner == section.library or not section.library:
        return ""
    return UNKNOWN if section.cell(section.library, choice.size) else NO_LIBRARY


def _tip(section, choice, name):
    gain = choice.gain
    said = f"{name}, {size_text(choice.size)}: {choice.winner.name}"
    if gain and choice.winner != section.library:
        library = library_name(section.library, section.shape.coll)
        said += f", {ratio_text(gain.value)}× as fast as {library} {interval_text(gain)}"
    elif gain:
        said += f"; the best other is {ratio_text(gain.value)}× as fast {interval_text(gain)}"
    return said + ("" if choice.is_significant else " (too few calls)" if choice.is_unknown else " (statistically tied)")
