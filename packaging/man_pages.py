#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages of tutti from its --help: a page for each command, and for each program that emulates another suite.

man_pages.py TUTTI FOLDER [PROGRAM ...]    PROGRAM: a link to TUTTI that is another suite's program
"""
import gzip
import re
import subprocess
import sys
from pathlib import Path

HAS_PARTS = "--help lists its options"  # each name in it has a page of its own
# "  --json TEXT    append records", or the text on the next line; names that fill the column end with one blank.
ENTRY = re.compile(r"  (\S.*?)(?: {2,}(.*)|(?<=^.{29}) (?!\.\.\.|REQUIRED|\(Env|in \[|\[|- |\d)(\S.*))?$")
USAGE = re.compile(r"(?:usage:|      ) (?=\S)(.*?)(?: *\(tutti .*)?$", re.IGNORECASE)
PART = re.compile(r"  ([a-z][\w-]*) {2,}(.*)")
ESCAPES = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})


def help_of(command):
    return subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout


def plain(text):
    text = text.strip().translate(ESCAPES)
    return "\\&" + text if text.startswith(".") else text


def body(lines):
    """Yields the sections after the name: the description, then one section for each heading of --help."""
    yield ".SH DESCRIPTION"
    before = ""
    for line in filter(str.strip, lines):
        entry = ENTRY.match(line)
        if USAGE.match(line):
            continue
        if line.startswith("example:"):
            yield from (".SH EXAMPLES", plain(line.split(":", 1)[1]))
        elif re.fullmatch(r"\S.*:", line):
            yield f".SH {plain(line[:-1].upper())}"
        elif entry:
            yield from (".TP", f".B {plain(entry[1])}")
            yield from (plain(text) for text in entry.groups()[1:] if text)
        else:
            if not line.startswith(" ") and (before.endswith(".") or before.startswith(" ")):
                yield ".PP"
            yield plain(line)
        before = line


def page(name, what, text, version, others):
    lines = text.splitlines()
    usage = [match[1] for match in map(USAGE.match, lines) if match]
    yield from (f'.TH {plain(name).upper()} 1 "" "tutti {version}" "User Commands"', ".SH NAME", rf"{plain(name)} \- {plain(what)}",
                ".SH SYNOPSIS")
    yield from "\n.br\n".join(f".B {plain(line)}" for line in usage).splitlines()
    yield from body(lines)
    yield from (".SH SEE ALSO", ".nh", ", ".join(rf"\fB{plain(other)}\fR(1)" for other in others))


def pages_of(command, what, above):
    """Yields name, description, help text and related pages of a command and of its subcommands."""
    name, text = "-".join(command), help_of([TUTTI, *command[1:]])
    parts = PART.findall(re.sub(r"\n {8,}", " ", text)) if HAS_PARTS in text else []
    yield name, what, text, [*above, *(f"{name}-{part}" for part, _ in parts)]
    for part, does in parts:
        yield from pages_of([*command, part], does, [*above, name] if name not in above else above)


def main(folder, programs):
    head = re.match(r"tutti (\S+): (.*)", help_of([TUTTI]))
    pages = list(pages_of(["tutti"], head[2], []))
    for program in programs:
        text = help_of([program])
        same = re.search(r"'(tutti bench \w+)'", text)[1]
        pages.append((Path(program).name, f"{same} with the flags of another suite", text, ["tutti-bench"]))
    for name, what, text, others in pages:
        lines = page(name, what, text, head[1], others)
        packed = gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0)
        (folder / f"{name}.1.gz").write_bytes(packed)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    TUTTI = str(Path(sys.argv[1]).resolve())
    FOLDER = Path(sys.argv[2])
    FOLDER.mkdir(parents=True, exist_ok=True)
    main(FOLDER, sys.argv[3:])
