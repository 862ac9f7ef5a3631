# SPDX-License-Identifier: Apache-2.0
"""The answer of a report as a table: the best candidate of each collective and size, its gain and the uncertainty."""

from .candidates import library_name
from .shapes import distinguishing
from .tables import Cell, table
from .reliability import DISTURBED, is_doubted, is_grey, reason
from .units import counted, half_text, known_text, nearest_sizes, others_text, size_text, time_text

MOST_ROWS = 20     # more: one for each collective, and all of them folded
MOST_FOLDED = 600  # more: only in the sections
TYPICAL = (4 << 10, 1 << 20)
MOST_RIVALS = 2
COLUMNS = ("what", "size", "best", "time", "±\u00a0%", "times as fast as the library", "%\u00a0of\u00a0limit", "statistically tied with")
SHORT_COLUMNS = ("what", *(f"{word}{size_text(size)}" for size in TYPICAL for word in ("best at about ", "times as fast at ", "%\u00a0of\u00a0limit at ")))
def section_table(sections):
    """HTML: the best at each size of each collective; where that is too long, at typical sizes, and all of it folded."""
    sections = [section for section in sections if section.sizes]
    names = distinguishing([section.shape for section in sections])
    count = sum(len(section.sizes) for section in sections)
    if not count:
        return ""
    whole = table(COLUMNS, [_row(section, names[section.shape], size) for section in sections for size in section.sizes],
                  numbers=(1, 3, 4, 6), kind="summary cards") if count <= MOST_FOLDED else ""
    if count <= MOST_ROWS:
        return whole
    short = table(SHORT_COLUMNS, [_short_row(section, names[section.shape]) for section in sections], kind="summary cards short")
    return short + (f"<details class=printed><summary>all {count} rows: every size, with times and limits</summary>{whole}</details>" if whole else "")


def missing_text(sections):
    """Names typical sizes that were not measured although they are within the range."""
    sizes = sorted({size for section in sections for size in section.sizes})
    return " ".join(f"{size_text(want)} was not measured; nearest: {size_text(max(size for size in sizes if size < want))}, "
                    f"{size_text(min(size for size in sizes if size > want))}."
                    for want in TYPICAL if sizes and want not in sizes and sizes[0] < want < sizes[-1])


def _short_row(section, name):
    sizes = [next(iter(nearest_sizes(section.sizes, (want,))), None) for want in TYPICAL]
    if sizes == [None] * len(TYPICAL):
        sizes[-1] = section.sizes[-1]  # all are far from what is typical
    cells = [Cell(name, link=section.shape.slug)]
    for want, size in zip(TYPICAL, sizes):
        choice = None if size is None else section.choice(size)
        cells += [_best(section, choice, "" if size == want else f"{size_text(size)}: ", _tied(choice)), _gain(section, choice),
                  limit_cell(section.cell(choice.winner, size))] if choice else [Cell("")] * 3
    return cells


def _tied(choice):
    return f", {others_text(len(choice.tied))}" if choice.tied else ""


def _best(section, choice, size="", tied=""):
    dagger = f"\u00a0{DISTURBED}" if choice.winner_disturbed else ""
    return Cell(f"{size}{choice.winner.name}{dagger}{tied}", strong=not is_doubted(section))


def _row(section, name, size):
    choice = section.choice(size)
    cell = section.cell(choice.winner, size)
    return [Cell(name, link=section.shape.slug), Cell(size_text(size), value=size),
            _best(section, choice), Cell(time_text(cell.p50), value=cell.p50),
            Cell(half_text(cell.time.half), value=cell.time.half, faint=is_grey(section)),
            _gain(section, choice), limit_cell(cell), _rivals(choice)]


def _gain(section, choice):
    """Above 1 the best candidate is faster than the library; where the library is best, its best rival's figure."""
    gain = choice.gain
    if gain is None:
        if section.library is None:
            return Cell("–")
        return Cell("not in one launch" if section.cell(section.library, choice.size) else "library not measured", faint=True)
    over = f" over\u00a0{section.library.name}{DISTURBED}" if choice.library_disturbed and choice.winner != section.library else ""
    text = ("library wins; next " if choice.winner == section.library else "") + known_text(gain, over)
    return Cell(text, value=gain.value, faint=is_grey(section) or not gain.significant)


def limit_cell(cell):
    share = cell.percent_of_limit
    if share is None:
        return Cell("– back-to-back calls" if cell.overlaps else "– unknown", faint=True)
    if cell.beats_limit:
        return Cell(">100: lower bound invalid", value=share, faint=True)
    return Cell(f"{share:.0f}", value=share)


def _rivals(choice):
    return Cell(rivals_text([candidate.name for candidate in choice.tied], choice.unknown, "calls"))


def rivals_text(names, untold, what):
    """The nearest of them, how many more, and of how many there are too few calls (or steps) to tell."""
    more = f" and {counted(len(names) - MOST_RIVALS, 'other')}" if len(names) > MOST_RIVALS else ""
    return "; ".join(filter(None, (", ".join(names[:MOST_RIVALS]) + more, f"too few {what}: {untold}" if untold else "")))


def libraries_text(sections):
    """Names the collectives of the library that ratios compare with."""
    return ", ".join(dict.fromkeys(library_name(section.library, section.shape.coll) for section in sections if section.library))


def reliability_text(sections):
    """Explains grey numbers: ratio unreliable (4 ranks share 2 cores)."""
    reasons = dict.fromkeys(filter(None, (reason(section) for section in sections if is_grey(section))))
    return f"Grey: ratio unreliable ({'; '.join(reasons)})." if reasons else ""
