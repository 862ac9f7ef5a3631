# SPDX-License-Identifier: Apache-2.0
"""The page: text, figures and tables of all sections, in one file that needs nothing else."""

from html import escape
from pathlib import Path

from . import findings, provenance, steps, tables
from .units import counted

STYLE = Path(__file__).with_name("page.css")

CAPTION = """Times are medians over the calls of a launch, and medians of those over the launches. An interval is
the 95 % interval of the median: from order statistics widened for lag-1 autocorrelation within one launch, over the
launch medians where there are several (least to greatest below six launches). "Not separable" means that two
intervals overlap. A candidate in [brackets] is a library's own collective. Bus bandwidth is nccl-tests' (10⁹ bytes
per second), so it can be compared with the speed of a link for any number of ranks. The limit is the least time that the machine
was seen to allow, whatever the algorithm (tutti limits); % of limit is limit over median. Of a training step, exposed is
its time less that of the same step without communication; hidden is what the communication takes alone less what is
exposed."""


def page(results, sections, figures, all_steps, title):
    """`figures` maps a section to its SVG texts by name; `all_steps` has steps and their figure's SVG text."""
    parts = [_head(title), f"<h1>{escape(title)}</h1>", _cautions(results), _provenance(results),
             _contents(sections, all_steps)]
    parts.append(steps.section(all_steps))
    parts += [_section(section, figures[section]) for section in sections]
    if results.fails:
        parts.append(f'<section id="failures"><h2>Failures</h2>{tables.fails_table(results)}</section>')
    parts.append(f"<footer>{escape(CAPTION)}</footer>\n</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def _head(title):
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>\n'
            f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>")


def _cautions(results):
    return "\n".join(f'<p class="caution">{escape(text)}</p>' for text in provenance.cautions(results))


def _provenance(results):
    entries = []
    for word, texts in provenance.rows(results):
        tag = "code" if word in ("command", "environment", "files") else "span"
        body = "<br>".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
        if len(texts) > 6:
            body = f"<details><summary>{len(texts)}</summary>{body}</details>"
        entries.append(f"<dt>{escape(word)}</dt><dd>{body}</dd>")
    return '<dl class="provenance">\n' + "\n".join(entries) + "\n</dl>"


def _contents(sections, all_steps):
    found = [(one.shape.slug, steps.heading(one), steps.finding(one)) for one, _ in all_steps]
    found += [(section.shape.slug, _heading(section), findings.finding(section)) for section in sections]
    items = "\n".join(f'<li><a href="#{slug}">{heading}</a> {escape(said)}</li>' for slug, heading, said in found)
    return f"<nav>\n<h2>Findings</h2>\n<ul>\n{items}\n</ul>\n</nav>"


def _heading(section):
    return f"{escape(section.shape.title)}<small> {escape(section.shape.details)}</small>"


def _section(section, svgs):
    def figure(name):
        return f"<figure>\n{svgs[name]}</figure>\n" if name in svgs else ""
    skipped = sum(1 for point in section.points if point.get("skipped"))
    summary = counted(len(section.points), "point") + " as a table" + (f", {skipped} of them skipped" if skipped else "")
    return (f'<section id="{section.shape.slug}">\n<h2>{_heading(section)}</h2>\n'
            f'<p class="finding">{escape(findings.finding(section))}</p>\n'
            f'<div class="pair">\n{figure("latency")}{figure("bandwidth")}</div>\n'
            f'{figure("heatmap")}{figure("spread")}'
            f'<details><summary>{summary}</summary><div class="scroll">{tables.points_table(section)}</div>'
            "</details>\n</section>")
