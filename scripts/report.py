#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns results files into one HTML page that needs nothing else: figures, tables and what they say."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plots import records  # noqa: E402  (found through the line above, from any working directory)
from tutti import command_line  # noqa: E402


def main(arguments):
    parser = command_line.Parser(prog="report", description=__doc__, example="report.py run.jsonl -o report.html")
    parser.add_argument("files", nargs="+", metavar="FILE", help="results (JSON Lines) of tutti bench or workload --json")
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="the page to write")
    parser.add_argument("-T", "--title", default="tutti report")
    parser.add_argument("--svg-dir", type=Path, metavar="DIR", help="also write each figure as DIR/NAME.svg")
    options = parser.parse_args(arguments)
    return command_line.run("report", lambda: write(options), options.output)


def write(options):
    results = records.read(options.files)
    # Only now: matplotlib takes a second to load, and most errors are found before it is needed.
    try:
        from plots import figures, page, sections, steps
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-matplotlib") from None
    all_sections = sections.sections_of(results)
    drawn = figures.draw(all_sections)
    drawn_steps = [(one, steps.draw(one)) for one in steps.steps_of(results)]
    html = page.page(results, all_sections, drawn, drawn_steps, options.title)
    Path(options.output).write_text(html, encoding="utf-8")
    if options.svg_dir:
        options.svg_dir.mkdir(parents=True, exist_ok=True)
        named = [(f"{section.shape.slug}-{name}", svg) for section, svgs in drawn.items() for name, svg in svgs.items()]
        named += [(one.shape.slug, svg) for one, svg in drawn_steps if svg]
        for name, svg in named:
            path = options.svg_dir / f"{name}.svg"
            path.write_text('<?xml version="1.0" encoding="utf-8"?>\n' + svg, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
