# SPDX-License-Identifier: Apache-2.0
"""The page: the answer, how reliable it is, figures, tables and sources, in one file that needs nothing else."""

import re
from contextlib import closing
from html import escape
from pathlib import Path

from tutti.printable import in_page

from . import levels, parallel, provenance, steps_table, style, summary, tables
from .naming import key_of
from .reliability import DISTURBED, TIED, UNKNOWN
from .shapes import distinguishing
from .units import counted, size_text

HERE = Path(__file__).parent
RELIABLE = "reliable"  # how a good verdict begins
# A page of 5 MB: figures first, and of the tables what is left.
MOST_FIGURES, MOST_FIGURE_BYTES, MOST_ROWS = 60, 2_700_000, 3600
PHONE, PIXELS_OF_INCH = 376, 81  # the width of a phone of 400 pixels without margins; words of 8 pt are of nine pixels then
RATIOS = "Times as fast: the median of the launches' ratios (of two to five launches, their geometric mean)."
NOTHING_TO_DRAW = '<p class="note">no figure: no correct result was measured</p>'
NO_ROOM = '<p class="note">no figure: the page would be too large</p>'
MOST_TRUST_LINES = 3  # below the verdict
TERMS = (
    ("Time", "Time of one call on the slowest rank: the median over the calls of a launch, then the median over the launches."),
    ("[low, high], ± %", "95 % interval, and half of it relative to the value. A ratio is taken in each launch, as its candidates alternate. One launch: from the "
                         "intervals of both medians; two to five: Student's t of the logarithms around their mean; from six on: order statistics."),
    (f"Statistically tied, {TIED}", "The interval of the ratio includes 1. Without an interval: the time is within the best's interval or at most 10 % above the best. "
                                    "About one of 20 true ties looks like a difference."),
    (f"Too few calls, {UNKNOWN}", "Fewer than six calls of one launch have no 95 % interval. Such a point is never called faster or slower."),
    (f"Disturbed, {DISTURBED}", "Other programs used the cores: the ranks had a core each, but missed most of the common starts of their calls."),
    ("Reliable", "Rankings are reliable where all candidates were slowed down alike. Ratios are not where intervals cover a single launch, or where the machine "
                 "was busy: those are grey."),
    ("Host problem", "A warning of tutti's checks of the host: clocks, heat, memory, stolen cores, lost frames."),
    ("[name]", "A library's own collective, as a program calls it."),
    ("shm, mpi, ucx, cuda", "Transports, after an algorithm's name: shared memory, messages of MPI or UCX, GPU memory."),
    ("Registered memory", "Buffers of tutti that peers load and store directly. Unregistered: a program's own buffers."),
    ("% of limit", "The lower bound of the time on this machine for any algorithm (tutti limits), over the median. None is known for calls with a root "
                   "that are timed back to back. An invalid bound was measured on a busy machine."),
    ("Bus bandwidth", "As nccl-tests defines it, in 10⁹ bytes per second."),
    ("Exposed, hidden", "Exposed communication of a training step: its time less the time of the same step without communication. Hidden: the time of the "
                        "communication alone less the exposed time."),
)


def page(report, title, canvas):
    drawn = _Drawn(report, canvas)
    title = title or _title(report.results)
    parts = [_head(title), f"<h1>{escape(title)}</h1>", _trust(report) if _is_measured(report.results) else "", _lead(report), _answer(report), _steps_answer(report),
             drawn.figure(report.decisions), _contents(report, drawn), drawn.note(), _steps(report, drawn), _comparisons(report, drawn),
             _scaling(report, drawn)]
    share = max(MOST_ROWS // max(len(report.sections), 1), 40)
    parts += [_section(section, report.of_section.get(section, []), drawn, share) for section in report.sections]
    if report.results.fails:
        parts.append(f'<section id="failures"><h2>Failures</h2>{tables.fails_table(report.results)}</section>')
    parts += [_sources(report), _terms(), f"<script>\n{_text('page.js')}</script>\n</main>\n</body>\n</html>\n"]
    return in_page("\n".join(filter(None, parts)))


class _Drawn:
    """The figures that have room, as HTML by drawing."""

    def __init__(self, report, canvas):
        def draw(drawing):
            with style.settings(canvas.style):
                made = drawing.draw(canvas)
                svg = style.svg_text(made, drawing.name, f"{drawing.title}; {drawing.details}", canvas.hover)
            return svg, made.get_figwidth()

        self._html, total = {}, 0
        drawings = report.on_page()
        with closing(parallel.each(draw, drawings[:MOST_FIGURES])) as all_drawn:
            for drawing, (svg, width) in zip(drawings, all_drawn):
                self._html[drawing] = _figure(drawing, svg, width)
                total += len(svg)
                if total > MOST_FIGURE_BYTES:
                    break
        self._left = len(drawings) - len(self._html)

    def figure(self, drawing):
        return self._html.get(drawing, "") if drawing else ""

    def figures(self, drawings):
        return "".join(map(self.figure, drawings))

    @staticmethod
    def absence(measured, drawings):
        """Says why no figure is shown, unless others were asked for."""
        return NO_ROOM if drawings else "" if measured else NOTHING_TO_DRAW

    def note(self):
        return (f'<p class="note">{counted(self._left, "figure")} more would make this page too large: <code>tutti report … --figures DIR'
                "</code> writes them all.</p>") if self._left else ""


def _figure(drawing, svg, inches):
    kind = ' class="wide"' if drawing.is_wide else ""
    cut = " cut" if inches * PIXELS_OF_INCH > PHONE else ""
    return (f'<figure{kind} id="{drawing.name}" style="--inches:{inches:.3g}"><div class="scroll{cut}">{svg}</div>'
            f"<figcaption>{escape(drawing.caption)}</figcaption></figure>")


def _head(title):
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
            f"<style>\n{_text('page.css')}</style>\n</head>\n<body>\n<main>")


def _text(name):
    return (HERE / name).read_text(encoding="utf-8")


def _is_measured(results):
    """Whether there are times of calls or of steps, and not only comparisons."""
    return bool(results.points or results.steps)


def _title(results):
    """Names the collectives, the numbers of ranks and the hosts; or what was compared."""
    if not _is_measured(results):
        return f"Comparison of {_first(dict.fromkeys(one['metric'] for one in results.verdicts))}"
    keys = [one["key"] for one in results.points + results.steps]
    hosts = dict(provenance.rows(results)).get("host", [])
    return (f"{_first(dict.fromkeys(key.get('coll') or key['workload'] for key in keys))} on {_ranks(keys)}" + (f" of {_first(hosts)}" if hosts else ""))


def _first(words, most=4):
    words = list(words)
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def _ranks(keys):
    *few, most = sorted({key["nranks"] for key in keys})
    return f"{', '.join(map(str, few))} and {counted(most, 'rank')}" if few else counted(most, "rank")


def _lead(report):
    """Machine, library and date in one line."""
    facts = dict(provenance.rows(report.results))
    if not _is_measured(report.results):
        return f'<p class="lead">{escape(" · ".join(facts.get("date", [])))}</p>'
    said = facts.get("CPU", [])[:3] + [_ranks([one["key"] for one in report.results.points + report.results.steps])]
    said += [text for word in ("GPU", "libraries", "date") for text in facts.get(word, [])[:3]]
    said.append(counted(report.results.launch_count(), "launch", "launches"))
    only = f'<p class="note">Only {escape(report.results.selection)}.</p>' if report.results.selection else ""
    return f'<p class="lead">{escape(" · ".join(said))}</p>{only}'


def _trust(report):
    items = list(map(_item, report.notes))
    setups = report.results.setups
    if setups:
        letters = [letter for letter, _ in setups[0]["values"]]
        rows = [[one["fact"], *(text or "–" for _, text in one["values"])] for one in setups]
        names = report.results.names.setups
        table = tables.table(["", *(names.get(letter) or f"setup {letter}" for letter in letters)], rows)
        key = key_of(part.shape.setup for part in report.sections + report.steps)
        items.append(f"<li><b>different setups</b> the files come from {len(letters)} setups, which are never merged"
                     f"{f': {escape(key)}' if key else ''}"
                     f"<details><summary>differences</summary>{table}</details></li>")
    shown = items if len(items) <= MOST_TRUST_LINES else items[:MOST_TRUST_LINES - 1]
    rest = items[len(shown):]
    more = f"<details><summary>{counted(len(rest), 'more note')}</summary><ul>{''.join(rest)}</ul></details>" if rest else ""
    good = " good" if report.results.verdict.startswith(RELIABLE) else ""
    return (f'<aside class="trust{good}"><h2>Trust: {escape(report.results.verdict)}</h2>' + (f"<ul>{''.join(shown)}</ul>" if shown else "") + more + "</aside>")


def _item(note):
    text = re.sub(r"(\d) %", "\\1\u00a0%", note.text)  # a number keeps its unit
    return f"<li><b>{escape(note.mark)}</b> {escape(text)}</li>"


def _answer(report):
    html = summary.section_table(report.sections)
    if not html:
        return ""
    over = summary.libraries_text(report.sections)
    said = [f"Library: {over}." if over else "", summary.missing_text(report.sections),
            f"{DISTURBED}: other programs used the cores." if any(cell.is_disturbed for section in report.sections for cell in section.cells.values()) else "",
            RATIOS if report.results.launch_count() > 1 and over else "", summary.reliability_text(report.sections)]
    return f'<section id="answer" class="first"><h2>Who wins</h2><p class="caption">{escape(" ".join(filter(None, said)))}</p>{html}</section>'


def _steps_answer(report):
    if not report.steps:
        return ""
    said = summary.reliability_text(report.steps)
    said = f'<p class="caption">{escape(said)}</p>' if said else ""
    return f'<section id="answer-steps" class="first"><h2>Training steps</h2>{said}{steps_table.answer_table(report.steps)}</section>'


def _contents(report, drawn):
    names = distinguishing([section.shape for section in report.sections])
    entries = [("steps", "training steps")] if report.steps else []
    entries += [("comparisons", "comparisons")] if drawn.figures(report.comparisons) else []
    entries += [("scaling", "scaling over ranks")] if drawn.figures(report.scaling) else []
    entries += [(shape.slug, name) for shape, name in names.items()]
    entries += [("failures", "failures")] if report.results.fails else []
    links = "".join(f'<a href="#{target}">{escape(words)}</a>' for target, words in [*entries, ("sources", "sources"), ("terms", "terms")])
    return f"<nav>{links}</nav>"


def _heading(shape):
    return f"{escape(shape.title)}<small> {escape(shape.details)}</small>"


def _steps(report, drawn):
    if not report.steps:
        return ""
    shapes = "".join(f'<article id="{one.shape.slug}">'
                     f"{drawn.figures(report.of_steps[one]) or f'<h3>{_heading(one.shape)}</h3>{drawn.absence(one.methods, report.of_steps[one])}'}</article>\n"
                     for one in report.steps)
    numbers = "".join(f"<h3>{_heading(one.shape)}</h3>{steps_table.records_table(one)}" for one in report.steps)
    return (f'<section id="steps"><h2>Training steps in parts</h2><div class="grid">{shapes}</div>'
            f"<details><summary>all numbers</summary>{numbers}</details></section>")


def _comparisons(report, drawn):
    figures = drawn.figures(report.comparisons)
    return f'<section id="comparisons"><h2>Comparisons of A and B</h2><div class="grid">{figures}</div></section>' if figures else ""


def _scaling(report, drawn):
    figures = drawn.figures(report.scaling)
    return f'<section id="scaling"><h2>Scaling over ranks</h2><div class="grid">{figures}</div></section>' if figures else ""


def _section(section, drawings, drawn, share):
    figures = drawn.figures(drawings)
    html, left = tables.cells_table(section, share)
    notes = f'<ul class="notes">{"".join(map(_item, section.notes))}</ul>' if section.notes else ""
    grid = f'<div class="grid">{figures}</div>' if figures else drawn.absence(section.sizes, drawings)
    rows = escape(tables.rows_text(html.count("<tr") - 1, left))
    sizes = f"{size_text(section.sizes[0])} to {size_text(section.sizes[-1])}" if section.sizes else "nothing measured"
    by_level = levels.levels_table(section)
    by_level = f"<details><summary>time, bytes and messages by level</summary>{by_level}</details>" if by_level else ""
    return (f'<section id="{section.shape.slug}"><h2>{_heading(section.shape)}</h2>\n{notes}{grid}\n'
            f"<details><summary>{rows} as a table, {sizes}</summary>{html}</details>{by_level}</section>")


def _sources(report):
    entries = []
    for word, texts in provenance.rows(report.results):
        tag = "code" if word in ("command", "environment", "files") else "span"
        body = "<br>".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
        if len(texts) > 6 and word != "files":
            body = f"<details><summary>{escape(texts[0][:60])} and {len(texts) - 1} more</summary>{body}</details>"
        entries.append(f"<dt>{escape(word)}</dt><dd>{body}</dd>")
    return '<section id="sources"><h2>Sources</h2><dl class="provenance">' + "\n".join(entries) + "</dl></section>"


def _terms():
    items = "".join(f"<dt>{escape(word)}</dt><dd>{escape(text)}</dd>" for word, text in TERMS)
    return f'<footer id="terms"><h2>Terms</h2><dl>{items}</dl></footer>'
