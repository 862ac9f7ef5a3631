#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks performance guidelines in results files: whether a collective is slower than others that do the same."""

import argparse
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plots import records  # noqa: E402  (found by the line above)
from plots.units import counted, time_text  # noqa: E402
from tutti import command_line, guidelines  # noqa: E402
from tutti.lines import ResultsError  # noqa: E402
from tutti.names import size_text  # noqa: E402

VIOLATED, NOTHING_TO_CHECK = 1, 3
MOST_SUSPECTS = 10  # shown in the text; JSON has all
HEADS = ("who", "guideline", "size", "factor", "95 % interval", "a call takes")
NAMES = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")  # knobs in brackets have commas, too


def main(arguments):
    parser = command_line.Parser(prog="check-guidelines", description=__doc__, example="tutti check-guidelines sweep.jsonl --tolerance 5%")
    parser.add_argument("files", nargs="+", metavar="FILE", help="results (JSON Lines) of tutti bench --json")
    parser.add_argument("--library", metavar="NAME", help="only this library, with its own choice of algorithms")
    parser.add_argument("--candidates", metavar="NAMES", help="only these candidates of tutti, e.g. auto, best, ring or 'tree (shm)'")
    parser.add_argument("--tolerance", type=fraction, default="5%", metavar="SHARE", help="excess time that is no violation (5%%)")
    parser.add_argument("--format", choices=FORMATS, default="text", help="(%(default)s)")
    options = parser.parse_intermixed_args(arguments)
    if options.library and options.candidates:
        parser.error("--library and --candidates are mutually exclusive")
    return command_line.run("check-guidelines", lambda: check(options), "stdout")


def fraction(text):
    """Parses 5% or 0.05."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share from 0 to 100%; use e.g. 5% or 0.05")
    return share


def check(options):
    results = records.read(options.files)
    for warning in results.warnings:
        print(f"check-guidelines: warning: {warning}", file=sys.stderr)
    checks, not_checked = [], []
    for candidate in chosen(options, results.points):
        more, without = guidelines.checks_of(candidate, guidelines.times_of(candidate, results.points, results.launches))
        checks += more
        not_checked += without
    found = Findings(guidelines.judged(checks, options.tolerance), not_checked, options.tolerance)
    for line in FORMATS[options.format](found):
        print(line)
    return VIOLATED if found.violations else 0 if checks else NOTHING_TO_CHECK


def chosen(options, points):
    """Returns the names of the candidates."""
    if options.library:
        return named([options.library], guidelines.libraries_in(points), "library")
    if options.candidates:
        names = [name.strip() for name in NAMES.findall(options.candidates)]
        return named(names, guidelines.names_in(points), "candidate of tutti")
    return guidelines.candidates_in(points)


def named(names, known, kind):
    for name in names:
        if name not in known:
            some = f"use one of: {', '.join(known[:12])}" if known else "there is none"
            raise ResultsError(printable(f"no {kind} in these files is called '{name}'; {some}"))
    return list(dict.fromkeys(names))


class Findings:
    """The data that all output formats show."""

    def __init__(self, judged, not_checked, tolerance):
        self.judged, self.not_checked, self.tolerance = judged, not_checked, tolerance
        self.violations = [one for one in judged if one.verdict == "violated"]
        # Common settings are printed once; a line has those that differ.
        said = [details(one.check.call) for one in judged]
        values = {name: {words.get(name) for words in said} - {None} for words in said for name in words}
        self.common = {name: next(iter(words)) for name, words in values.items() if len(words) == 1}

    def shared(self):
        """Returns the common settings; the environment counts only if it differs."""
        return ", ".join(words for name, words in self.common.items() if name != "environment")

    def counts(self, candidate=None):
        count = Counter(one.verdict for one in self.judged if candidate in (None, one.check.candidate))
        return {verdict: count[verdict] for verdict in ("violated", "kept", "undecided")}

    def summary(self, candidate=None):
        counts = self.counts(candidate)
        return f"{sum(counts.values())} checked: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())

    def candidates(self):
        return list(dict.fromkeys(one.check.candidate for one in self.judged))

    def suspects(self):
        """Returns undecided checks that look violated, the clearest first."""
        found = [one for one in self.judged if one.verdict == "undecided" and one.check.ratio.value > 1 + self.tolerance]
        return sorted(found, key=lambda one: -one.low)

    def where(self, one):
        """Returns the candidate and the settings that differ between lines."""
        own = [words for name, words in details(one.check.call).items() if name not in self.common]
        return " ".join([one.check.candidate, *own])

    def rule(self):
        tests = sum(one.check.comparable for one in self.judged)
        return (f"violated: longer by more than {100 * self.tolerance:g} %, at a level of {100 * (1 - guidelines.CONFIDENCE):.0f} % "
                f"for all {tests} tests together (Holm); intervals are of {100 * guidelines.CONFIDENCE:.0f} % each")

    def cautions(self):
        """Yields notes on the intervals."""
        apart = sum(not one.check.comparable for one in self.judged)
        if apart:
            yield (f"{apart} checks compare different launches, one of each, which differ by more than intervals within a launch: "
                   "these never count as violated; measure each collective with tutti bench --launches 5")
        if any(one.verdict != "kept" and one.check.call.setting.is_by_barrier for one in self.judged):
            yield ("started by barrier: a rank that leaves it late may find a rooted call already done, which then appears too short; "
                   "use --sync deadline if each rank has an idle core")
        if any(one.check.comparable and one.check.launches == 1 for one in self.judged):
            yield "checks within a single launch hold only for that launch; use tutti bench --launches 5 for several"

    def tables(self):
        """Returns [(title, checks)] to be shown."""
        suspects = self.suspects()
        shown = suspects[:MOST_SUSPECTS]
        more = f"; the {MOST_SUSPECTS} clearest of {len(suspects)}" if len(suspects) > MOST_SUSPECTS else ""
        both = [("violated", self.violations), (f"undecided, though it looks violated{more}", shown)]
        return [(title, rows) for title, rows in both if rows]

    def why_not(self):
        """Yields a line per reason on guidelines that were not checked."""
        groups = {}
        for one in self.not_checked:
            groups.setdefault((one.candidate, "" if one.missing else one.reason), []).append(one)
        for (candidate, reason), group in groups.items():
            missing = sorted({coll for one in group for coll in one.missing})
            yield (f"not checked of {candidate}, as {reason or 'there are no points of ' + ', '.join(missing)}: "
                   f"{'; '.join(one.guideline for one in group)}")


def details(call):
    words = call.setting.words()
    return words | ({"op": call.op} if call.op != "none" else {}) | ({"root": f"root {call.root}"} if call.root >= 0 else {})


def gain(check):
    return (f"{time_text(check.takes_ns)} instead of {time_text(check.would_take_ns)}, "
            f"{time_text(check.takes_ns - check.would_take_ns)} to gain")


def factor_text(factor):
    return f"{factor:.2f}" if factor < 99.995 else f"{factor:.3g}"


def as_text(found):
    if found.common:
        yield printable(f"guidelines: {found.shared()}")
    if found.judged:
        yield found.rule()
    for title, shown in found.tables():
        yield ""
        yield title
        rows = [HEADS, *([printable(word) for word in row(found, one)] for one in shown)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for words in rows:
            yield "  " + "  ".join(f"{word:>{width}}" if number in (2, 3) else f"{word:<{width}}"
                                   for number, (word, width) in enumerate(zip(words, widths))).rstrip()
    yield ""
    yield from map(printable, conclusion(found))


def as_markdown(found):
    yield "## Performance guidelines"
    yield ""
    if found.common:
        yield cell(found.shared()) + "."
    if found.judged:
        yield found.rule() + "."
    for title, shown in found.tables():
        yield f"\n{title}:\n"
        yield f"| {' | '.join(HEADS)} |"
        yield "|---|---|---:|---:|---|---|"
        for one in shown:
            yield f"| {' | '.join(map(cell, row(found, one)))} |"
    yield ""
    for line in conclusion(found):
        yield f"- {cell(line.strip())}"


def row(found, one):
    """Returns the cells of a table; see HEADS."""
    check = one.check
    return (found.where(one), check.words, size_text(check.size), factor_text(check.ratio.value),
            f"{factor_text(one.low)} to {factor_text(one.high)}", gain(check))


def conclusion(found):
    yield found.summary() if found.judged else "no guideline could be checked"
    if len(found.candidates()) > 1:
        for candidate in found.candidates():
            yield f"  {candidate}: {found.summary(candidate)}"
    yield from found.cautions()
    yield from found.why_not()


def cell(text):
    """Escapes a cell for Markdown and HTML."""
    return re.sub(r"([\\`*_|\[\]<>&#])", r"\\\1", printable(text))


def as_json(found):
    yield json.dumps({
        "v": 1, "tolerance": found.tolerance, "confidence": guidelines.CONFIDENCE, "checked": len(found.judged), **found.counts(),
        "checks": [check_fields(one) for one in found.judged],
        "not_checked": [vars(one) for one in found.not_checked]},
        indent=1, allow_nan=False)


def check_fields(one):
    check, call = one.check, one.check.call
    return {"verdict": one.verdict, "candidate": check.candidate, "guideline": check.guideline, "words": check.words,
            "coll": call.coll, "bytes": check.size, "op": call.op, "root": call.root, **vars(call.setting),
            "factor": number(check.ratio.value), "low": number(one.low), "high": number(one.high), "p": one.p,
            "takes_ns": number(check.takes_ns), "would_take_ns": number(check.would_take_ns),
            "gain_ns": number(check.takes_ns - check.would_take_ns), "launches": check.launches}


def number(value):
    return float(f"{value:.6g}") if math.isfinite(value) else None


def printable(text):
    """Removes control characters of names in files."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


FORMATS = {"text": as_text, "json": as_json, "markdown": as_markdown}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
