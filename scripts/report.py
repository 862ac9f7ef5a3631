#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns results files into one HTML page that needs nothing else, into figures as files, or into a paper's artifact."""

import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plots import naming, options, records  # noqa: E402  (found through the line above, from any working directory)
from tutti import command_line  # noqa: E402


def main(arguments):
    chosen = options.parse(arguments)
    return command_line.run("report", lambda: write(chosen), chosen.output or chosen.figures or chosen.artifact)


def write(chosen):
    gc.disable()  # 100,000 records stay until the end: collecting garbage would free nothing
    results = records.read(chosen.files, chosen.candidates, chosen.sizes, naming.Names(dict(chosen.rename), dict(chosen.machine_name)))
    for folder in filter(None, (chosen.figures, chosen.artifact)):
        command_line.make_folder(folder)
    if chosen.output:
        command_line.require_writable(chosen.output)
    # Only now: matplotlib takes a second to load, and most errors are found before it is needed.
    try:
        from plots import artifact, figure_files, figures, page, style
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-matplotlib") from None
    report = figures.report_of(results, chosen.only)
    selecting = options.selecting(chosen)
    if chosen.figures:
        figure_files.write(report, chosen.figures, chosen.format or ["svg"], style.Canvas(report.palette(), style.chosen(chosen)),
                           options.look(chosen) + selecting)
    if chosen.artifact:
        artifact.write(report, chosen.artifact, options.for_paper(chosen), selecting)
    if chosen.output:
        html = page.page(report, chosen.title, style.Canvas(report.palette()))
        Path(chosen.output).write_text(html, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
