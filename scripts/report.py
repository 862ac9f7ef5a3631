#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns results files into one HTML page that needs nothing else: figures, tables and what they say."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plots import records  # noqa: E402  (found through the line above, from any working directory)

USAGE_ERROR = 64


class Parser(argparse.ArgumentParser):
    """One line for a usage error, as `tutti` itself does."""

    def error(self, message):
        self.exit(USAGE_ERROR, f"report: {message}; type for example: report.py run.jsonl -o report.html\n")


def main(arguments):
    parser = Parser(prog="report", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="results (JSON Lines) of tutti bench or workload --json")
    parser.add_argument("-o", "--output", required=True, metavar="HTML", help="the page to write")
    parser.add_argument("-T", "--title", default="tutti report")
    parser.add_argument("--svg-dir", type=Path, metavar="DIR", help="also write each figure as DIR/NAME.svg")
    options = parser.parse_args(arguments)
    try:
        write(options)
    except records.ReportError as error:
        return _refuse(error)
    except OSError as error:
        # What fails when a file is closed, as on a full disk, does not say which file it was.
        return _refuse(f"cannot write '{error.filename or options.output}': {error.strerror}; type another file behind -o")
    return 0


def write(options):
    results = records.read(options.files)
    # Only now: matplotlib takes a second to load, and most errors are found before it is needed.
    try:
        from plots import figures, page, sections, steps
    except ModuleNotFoundError as missing:
        raise records.ReportError(f"no Python module {missing.name} in {sys.executable}; "
                                  "type: apt-get install python3-matplotlib, and run with /usr/bin/python3") from None
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


def _refuse(reason):
    print(f"report: {reason}", file=sys.stderr)
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
