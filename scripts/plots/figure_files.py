# SPDX-License-Identifier: Apache-2.0
"""Figures as files: each with its data as CSV, and a text that says how to read it and which commands made it."""

import csv
import shlex
import textwrap

from . import measured_by, style


def write(report, folder, formats, canvas, arguments):
    """NAME.svg (or .pdf, .png), NAME.csv and NAME.txt for each figure; the names."""
    names = []
    with style.settings(canvas.style):
        for drawing in report.drawings():
            made = drawing.draw(canvas)
            for form in formats:
                (folder / f"{drawing.name}.{form}").write_bytes(_file(made, drawing, form, canvas))
            with open(folder / f"{drawing.name}.csv", "w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(drawing.columns)
                writer.writerows([_value(value) for value in row] for row in drawing.rows())
            (folder / f"{drawing.name}.txt").write_text(_words(report, drawing, arguments), encoding="utf-8")
            names.append(drawing.name)
    return names


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


def _words(report, drawing, arguments):
    """The caption, and where all this comes from."""
    parts = [f"{drawing.title}\n{drawing.details}", "\n".join(textwrap.wrap(drawing.caption, 100))]
    parts += ["\n".join(f"! {note.mark}: {note.text}" for note in drawing.notes)] if drawing.notes else []
    parts.append(f"Drawn by:\n    tutti report {shlex.join(arguments)}")
    commands = [f"    {one.command}" for one in measured_by.runs(report.results, drawing.points)]
    parts.append("Measured by:\n" + "\n".join(commands or ["    (the files do not say)"]))
    parts.append("Data: " + ", ".join(dict.fromkeys(str(point["file"]) for point in drawing.points)))
    return "\n\n".join(parts) + "\n"
