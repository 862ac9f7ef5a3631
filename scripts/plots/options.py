# SPDX-License-Identifier: Apache-2.0
"""The words of `tutti report`."""

import argparse
from pathlib import Path

from tutti import command_line

FORMATS = ("svg", "pdf", "png")


def parse(arguments):
    parser = command_line.Parser(prog="report", description="Results files as a page, as figures, or as a paper's artifact.",
                                 example="tutti report run.jsonl -o report.html")
    parser.add_argument("files", nargs="+", metavar="FILE", help="results (JSON Lines) of tutti bench or workload --json")
    parser.add_argument("-o", "--output", metavar="HTML", help="the page to write")
    parser.add_argument("-T", "--title", default="", help="of the page; else it names collectives, ranks and hosts")
    parser.add_argument("--figures", "--svg-dir", type=Path, metavar="DIR",
                        help="write each figure into this folder, with its data (CSV) and the command that made it")
    parser.add_argument("--format", type=_formats, default=["svg"], metavar="LIST", help="of the figures: svg,pdf,png")
    parser.add_argument("--style", choices=("screen", "paper"), default="screen",
                        help="of the figures: paper is 3.5 inches wide (map, heat map and spread 7.16), 8 pt, without titles")
    parser.add_argument("--only", type=_list, default=[], metavar="LIST",
                        help="figures with one of these in their name: ratio,limit,latency,bandwidth,decisions,all-reduce")
    parser.add_argument("--candidates", type=_list, default=[], metavar="LIST", help="algorithms or libraries: ring,tree/shm,mpi")
    parser.add_argument("--sizes", default="", metavar="LIST", help="sizes and ranges: 8,4K..1M")
    parser.add_argument("--artifact", type=Path, metavar="DIR",
                        help="write what a paper's artifact description needs, and a script for each figure")
    chosen = parser.parse_args(arguments)
    if not (chosen.output or chosen.figures or chosen.artifact):
        parser.error("the following arguments are required: -o/--output, --figures or --artifact")
    return chosen


def selecting(chosen):
    """The words that select the same records again."""
    return [f"--{name}={words}" for name, words in (("candidates", ",".join(chosen.candidates)), ("sizes", chosen.sizes)) if words]


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
