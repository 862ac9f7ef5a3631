# SPDX-License-Identifier: Apache-2.0
"""Figures as files: each with its data as CSV, and a text that says how to read it and which commands made it."""

import csv
import os
import shlex
import textwrap

from . import measured_by, parallel, style


def write(report, folder, formats, canvas, options):
    """Writes NAME.svg (or .pdf, .png), NAME.csv and NAME.txt for each figure. `options` are those that draw the same again."""
    def write_one(drawing):
        with style.settings(canvas.style):
            made = drawing.draw(canvas)
            for form in formats:
                (folder / f"{drawing.name}.{form}").write_bytes(_file(made, drawing, form, canvas))
        with open(folder / f"{drawing.name}.csv", "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(drawing.columns)
            writer.writerows([_value(value) for value in row] for row in drawing.rows())
        (folder / f"{drawing.name}.txt").write_text(_words(report, drawing, _command(report, folder, drawing, options)), encoding="utf-8")
    for _ in parallel.each(write_one, report.drawings()):
        pass


def _file(made, drawing, form, canvas):
    if form != "svg":
        return style.file_bytes(made, form)
    svg = style.svg_text(made, drawing.name, f"{drawing.title}; {drawing.details}", canvas.hover)
    return ('<?xml version="1.0" encoding="utf-8"?>\n' + svg).encode("utf-8")


def _value(value):
    """Text that a spreadsheet would take for a formula is made text again."""
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.6g}"
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _command(report, folder, drawing, options):
    """Draws this figure again if it is typed in its folder."""
    files = [os.path.relpath(file, folder) for file in report.results.files]
    return shlex.join(["tutti", "report", *files, "--figures", ".", *options, f"--only={drawing.name}"])


def _words(report, drawing, command):
    """The caption, and where all this comes from."""
    parts = [f"{drawing.title}\n{drawing.details}", "\n".join(textwrap.wrap(drawing.caption, 100))]
    parts += ["\n".join(f"! {note.mark}: {note.text}" for note in drawing.notes)] if drawing.notes else []
    parts.append(f"Drawn in this folder by:\n    {command}")
    commands = [f"    {one.command}" for one in measured_by.runs(report.results, drawing.points)]
    parts.append("Measured by:\n" + "\n".join(commands or ["    (the files do not say)"]))
    parts.append("Data: " + ", ".join(dict.fromkeys(str(point["file"]) for point in drawing.points)))
    return "\n\n".join(parts) + "\n"
