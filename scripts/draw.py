#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what tutti describes as JSON on standard input: a machine (tutti topo --svg) or a decision table (tutti tune --svg)."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import plots  # noqa: E402,F401  (found through the line above; it finds the package tutti)
from tutti import command_line  # noqa: E402

FORMATS = (".svg", ".pdf", ".png")


def main(arguments):
    parser = command_line.Parser(prog="draw", description=__doc__, example="tutti topo --svg machine.svg")
    parser.add_argument("kind", choices=("machine", "table"))
    parser.add_argument("output", metavar="FILE", help="FILE.svg, FILE.pdf or FILE.png; SVG for any other name")
    options = parser.parse_args(arguments)
    return command_line.run("draw", lambda: write(options), options.output)


def write(options):
    try:
        from plots import machine_figure, style, table_figure
    except ModuleNotFoundError as missing:
        raise command_line.needs(missing.name, "python3-matplotlib") from None
    described = json.load(sys.stdin)
    with style.settings(style.PICTURE):
        made = {"machine": machine_figure, "table": table_figure}[options.kind].draw(described)
        form = Path(options.output).suffix[1:] if Path(options.output).suffix in FORMATS else "svg"
        data = style.file_bytes(made, form) if form != "svg" else style.svg_file(made, options.kind, options.kind)
    Path(options.output).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
