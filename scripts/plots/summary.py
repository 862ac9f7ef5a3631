# SPDX-License-Identifier: Apache-2.0
"""The answer of a report as a table: the best candidate of each collective and size, by how much, and how sure."""

from . import trust
from .candidates import library_name
from .decision import choice_of
from .shapes import distinguishing
from .tables import Cell, table
from .trust import DISTURBED, ONE_LAUNCH
from .units import counted, half_text, known_text, nearest_sizes, size_text, time_text
from .verdict import is_doubted, sign_of

MOST_ROWS = 20     # more: one for each collective, and all of them folded
MOST_FOLDED = 600  # more: only in the sections
TYPICAL = (4 << 10, 1 << 20)
MOST_RIVALS = 2
COLUMNS = ("what", "size", "best", "time", "±\u00a0%", "times as fast as the library", "%\u00a0of\u00a0limit", "not told apart from")
SHORT_COLUMNS = ("what", *(f"{word}{size_text(size)}" for size in TYPICAL for word in ("best at about ", "times as fast at ", "%\u00a0of\u00a0limit at ")))
LOOKS = "Bold: the ranking can be trusted. Grey: a factor or an interval that cannot, or a factor that is not told apart from 1."
AS_GOOD = " 4 as good: so many more are not told apart from the best."


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
        return whole + f'<p class="caption">{LOOKS}</p>'
    short = table(SHORT_COLUMNS, [_short_row(section, names[section.shape]) for section in sections], kind="summary cards short")
    return short + f'<p class="caption">{LOOKS}{AS_GOOD}</p>' + (f"<details class=printed><summary>all {count} rows: every size, with times and limits</summary>{whole}</details>" if whole else "")


def missing_text(sections):
    """Which typical size lies between those that were measured, and was not."""
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
        choice = None if size is None else choice_of(section, size)
        cells += [_best(section, choice, "" if size == want else f"{size_text(size)}: ", _as_good(choice)), _gain(section, choice),
                  limit_cell(section.cell(choice.winner, size))] if choice else [Cell("")] * 3
    return cells


def _as_good(choice):
    return f", {len(choice.rivals)} as good" if choice.rivals else ""


def _best(section, choice, size="", as_good=""):
    dagger = f"\u00a0{DISTURBED}" if choice.winner_disturbed else ""
    return Cell(f"{size}{choice.winner.name}{dagger}{as_good}", strong=not is_doubted(section))


def _row(section, name, size):
    choice = choice_of(section, size)
    cell = section.cell(choice.winner, size)
    return [Cell(name, link=section.shape.slug), Cell(size_text(size), value=size),
            _best(section, choice), Cell(time_text(cell.p50), value=cell.p50),
            Cell(half_text(cell.time.half), value=cell.time.half, faint=is_doubted(section)),
            _gain(section, choice), limit_cell(cell), _rivals(choice)]


def _gain(section, choice):
    """Above 1 the best candidate is faster than the library; where the library is best, its best rival's figure."""
    gain = choice.gain
    if gain is None:
        if section.library is None:
            return Cell("–")
        return Cell("not in one launch" if section.cell(section.library, choice.size) else "library not measured", faint=True)
    over = f" over\u00a0{section.library.name}{DISTURBED}" if choice.library_disturbed and choice.winner != section.library else ""
    text = ("library wins; next " if choice.winner == section.library else "") + known_text(gain, sign_of(section)) + over
    return Cell(text, value=gain.value, faint=is_doubted(section) or not gain.is_significant)


def limit_cell(cell):
    share = cell.percent_of_limit
    if share is None:
        return Cell("– calls overlap" if cell.overlaps else "– no limit known", faint=True)
    if cell.beats_limit:
        return Cell(">100: limit too high", value=share, faint=True)
    return Cell(f"{share:.0f}", value=share)


def _rivals(choice):
    return Cell(rivals_text([candidate.name for candidate in choice.rivals], choice.untold, "calls"))


def rivals_text(names, untold, what):
    """The nearest of them, how many more, and of how many there are too few calls (or steps) to tell."""
    more = f" and {len(names) - MOST_RIVALS} more" if len(names) > MOST_RIVALS else ""
    return "; ".join(filter(None, (", ".join(names[:MOST_RIVALS]) + more, f"too few {what}: {untold}" if untold else "")))


def libraries_text(sections):
    """Which library the ratios are to: MPI_Allreduce ... of Open MPI."""
    return ", ".join(dict.fromkeys(library_name(section.library, section.shape.coll) for section in sections if section.library))


def trust_notes(results, found, parts):
    """What is true of the whole report, whose parts are sections and steps."""
    cells = [cell for part in parts for cell in getattr(part, "cells", {}).values()]
    notes = found.notes(results.points + results.steps, cells)
    single = sum(any(note.mark == ONE_LAUNCH for note in one.notes) for one in parts)
    if single and all(note.mark != ONE_LAUNCH for note in notes):
        notes.append(trust.Note(ONE_LAUNCH, f"{single} of {counted(len(parts), 'table')} rest on one launch each: {trust.OF_ONE_LAUNCH}",
                                trust.RANKING_ONLY, "each was launched once"))
    notes = notes[:1] + sorted(notes[1:], key=lambda note: note.mark != ONE_LAUNCH)  # which holds for every factor, so comes second
    wrong = sum(point["check"]["state"] == "fail" for point in results.points + results.steps if not point.get("skipped"))
    if wrong:
        notes.insert(0, trust.Note("WRONG RESULTS", f"{counted(wrong, 'point')}: left out of figures and rankings, red in the tables",
                                   trust.NOTHING, f"{counted(wrong, 'point')} with wrong results"))
    if results.fails:
        notes.append(trust.Note("failures", f"{len(results.fails)}, listed at the end"))
    return notes + [trust.Note("torn file", text) for text in results.warnings]
