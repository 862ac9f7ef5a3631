# SPDX-License-Identifier: Apache-2.0
"""The options of `tutti report`."""

import argparse
import re
from pathlib import Path

from tutti import command_line

FORMATS = ("svg", "pdf", "png")
LEGENDS = ("auto", "inside", "right", "below", "none")
INCHES = {"": 1, "in": 1, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}
WIDTHS, HEIGHTS = (1.5, 40), (0.8, 40)  # inches that a figure may have
DOTS = (30, 1200)                       # per inch
SELECTING = ("candidates", "sizes")
# Options that decide how the same figure looks.
LOOK = ("style", "format", "columns", "width", "height", "dpi", "font", "legend", "no_warnings", "rename", "machine_name")


def parse(arguments):
    parser = command_line.Parser(prog="report", description="Results files as a page, as figures, or as a paper's artifact.",
                                 example="tutti report run.jsonl -o report.html")
    parser.add_argument("files", nargs="+", metavar="FILE", help="results (JSON Lines) of tutti bench or workload --json")
    parser.add_argument("-o", "--output", metavar="HTML", help="the page to write")
    parser.add_argument("-T", "--title", default="", help="of the page; else it names collectives, ranks and hosts")
    parser.add_argument("--figures", "--svg-dir", type=Path, metavar="DIR",
                        help="write each figure into this folder, with its data (CSV) and the command that made it")
    parser.add_argument("--format", type=_formats, metavar="LIST", help="of the figures: svg,pdf,png (svg)")
    parser.add_argument("--style", choices=("screen", "paper"),
                        help="of the figures: paper is 3.5 inches wide (map, heat map and spread 7.16), 8 pt, without titles")
    parser.add_argument("--columns", type=int, choices=(1, 2), help="width of all figures in columns of the page")
    parser.add_argument("--width", type=_length(*WIDTHS), metavar="LENGTH", help="of all figures: 3.4in, 86mm or 246pt")
    parser.add_argument("--height", type=_length(*HEIGHTS), metavar="LENGTH", help="of all figures, with their legends")
    parser.add_argument("--dpi", type=_dots, metavar="N", help="dots per inch of PNG files (150; paper 300)")
    parser.add_argument("--font", metavar="NAME", help="of the figures (DejaVu Sans)")
    parser.add_argument("--legend", choices=LEGENDS,
                        help="its place; auto: names at the ends of curves if there is room, else below (below; paper auto)")
    parser.add_argument("--no-warnings", action="store_true", help="figures without the line and the tint of warnings")
    parser.add_argument("--only", type=_list, default=[], metavar="LIST",
                        help="figures with one of these in their name: ratio,limit,latency,bandwidth,decisions,multiples,all-reduce")
    parser.add_argument("--candidates", type=_list, default=[], metavar="LIST", help="algorithms or libraries: ring,tree/shm,mpi")
    parser.add_argument("--sizes", default="", metavar="LIST", help="sizes and ranges: 8,4K..1M")
    parser.add_argument("--rename", type=_pair, action="append", default=[], metavar="OLD=NEW",
                        help="name of an algorithm, a transport or a library in figures and tables; repeatable")
    parser.add_argument("--machine-name", type=_pair, action="append", default=[], metavar="LETTER=NAME",
                        help="name of a setup in figures and tables; repeatable")
    parser.add_argument("--artifact", type=Path, metavar="DIR",
                        help="write what a paper's artifact description needs, and a script for each figure")
    chosen = parser.parse_args(arguments)
    if not (chosen.output or chosen.figures or chosen.artifact):
        parser.error("the following arguments are required: -o/--output, --figures or --artifact")
    if chosen.columns and chosen.width:
        parser.error("--columns and --width exclude each other")
    return chosen


def selecting(chosen):
    """The words that select the same records again."""
    return _words(chosen, SELECTING)


def look(chosen):
    """The words that draw a figure in the same way again."""
    return _words(chosen, LOOK)


def for_paper(chosen):
    """The words that draw a figure as asked for, and else as PDF and SVG for a paper."""
    chosen = argparse.Namespace(**vars(chosen))
    chosen.style, chosen.format = chosen.style or "paper", chosen.format or ["pdf", "svg"]
    return look(chosen)


def _words(chosen, names):
    return [word for name in names for word in _said(name, getattr(chosen, name))]


def _said(name, value):
    option = "--" + name.replace("_", "-")
    if value in (None, "", [], False):
        return []
    if value is True:
        return [option]
    if name in ("rename", "machine_name"):
        return [f"{option}={old}={new}" for old, new in value]
    return [f"{option}={','.join(value) if isinstance(value, list) else value}"]


def _list(text):
    words = [word for word in text.split(",") if word]
    if not words:
        raise argparse.ArgumentTypeError("an empty list")
    return words


def _formats(text):
    words = _list(text)
    unknown = [word for word in words if word not in FORMATS]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{unknown[0]}' is unknown; use {', '.join(FORMATS)}")
    return words


def _pair(text):
    old, equals, new = (word.strip() for word in text.partition("="))
    if not (old and equals and new):
        raise argparse.ArgumentTypeError(f"'{text}' has no name before or after '='; use OLD=NEW")
    return old, new


def _length(least, most):
    def inches(text):
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", text.strip())
        if not found or found[2] not in INCHES:
            raise argparse.ArgumentTypeError(f"'{text}' is not a length; use, for example, {', '.join(f'3{unit}' for unit in INCHES if unit)}")
        length = float(found[1]) * INCHES[found[2]]
        if not least <= length <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is out of range; use {least:g}in to {most:g}in")
        return length
    return inches


def _dots(text):
    if not text.isdecimal() or not DOTS[0] <= int(text) <= DOTS[1]:
        raise argparse.ArgumentTypeError(f"'{text}' is out of range; use {DOTS[0]} to {DOTS[1]}")
    return int(text)
