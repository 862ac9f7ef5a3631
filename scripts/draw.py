#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what tutti describes as JSON on standard input, onto standard output: a machine (tutti topo --svg), a schedule
(tutti show --svg, or what tutti::to_json() makes of one), a table (tutti tune --svg) or a metric over many launches
(tutti history -o)."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import plots  # noqa: E402,F401  (found through the line above; it finds the package tutti)
from tutti import command_line  # noqa: E402

FORMATS = (".pdf", ".png")


def main(arguments):
    parser = command_line.Parser(prog="draw", description=__doc__, example="tutti topo --svg machine.svg")
    parser.add_argument("kind", choices=("machine", "schedule", "table", "history"))
    parser.add_argument("form", nargs="?", default=".svg", help=".svg, .pdf or .png; anything else is SVG")
    options = parser.parse_args(arguments)
    return command_line.run("draw", lambda: write(options), "stdout")


def write(options):
    try:
        from plots import history_figure, machine_figure, schedule_figure, style, table_figure
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-matplotlib") from None
    described = json.load(sys.stdin)
    figure, look = {"machine": (machine_figure, style.PICTURE), "schedule": (schedule_figure, style.PICTURE),
                    "table": (table_figure, style.PICTURE), "history": (history_figure, style.SCREEN)}[options.kind]
    with style.settings(look):
        made = figure.draw(described)
        data = (style.file_bytes(made, options.form[1:]) if options.form in FORMATS
                else style.svg_file(made, options.kind, described.get("metric", options.kind)))
    sys.stdout.buffer.write(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
