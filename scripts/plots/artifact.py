# SPDX-License-Identifier: Apache-2.0
"""The artifact description of a paper, from the stored provenance: the text, the data, a script per figure."""

import hashlib
import re
import shlex
import shutil
from pathlib import Path

from . import measured_by, provenance
from .units import counted

NAMES = "--machine-name="  # a new measurement has one setup, without a letter
SCRIPT = """\
#!/usr/bin/env bash
# {title}
# {details}
# Draws {name} from the stored data into figures/; with --measure it measures again first, on this machine.
# TUTTI names the command, MPIRUN the launcher with its options, if they are not in the PATH as tutti and mpirun.
set -euo pipefail
tutti=$(command -v "${{TUTTI:-tutti}}") || {{ echo "${{0##*/}}: no command '${{TUTTI:-tutti}}'; set TUTTI to its path" >&2; exit 64; }}
tutti=$(realpath --no-symlinks "$tutti")
cd "$(dirname "${{BASH_SOURCE[0]}}")"
mpirun=${{MPIRUN:-mpirun}}
files=({files})
only={name}
options=({options})
names=({names})  # names of setups
if [[ ${{1:-}} == --measure ]]; then
    mkdir -p measured
    files=()
    only={measured}
    names=()  # one setup
{measure}
fi
"$tutti" report "${{files[@]}}" --figures figures "${{options[@]}}" "${{names[@]}}" --only "$only"
"""
README = """\
# Artifact description

Figures: {figures}. Data: {points} in {files}, {launches}{selection}.

## Checklist

| | |
|---|---|
{rows}
| output | times of one call (median of the slowest rank, with 95 % interval), bandwidth, % of the machine's limit |
| metrics | ratio of times to the library's own collective, in each launch; 95 % interval over launches |
| experiment | `reproduce-NAME.sh` draws a figure from the stored data in seconds; `reproduce-NAME.sh --measure` measures again |
| data | `data/`, JSON Lines; SHA-256 below |

## Caveats

{notes}

## How it was measured

{commands}

Ranks were started by mpirun or the scheduler, whose options are not stored. Environment of the measurement:

{environment}

## How to build the same tutti

{build}

## Figures

| figure | script | what |
|---|---|---|
{scripts}

## Data

| file | SHA-256 |
|---|---|
{sums}
"""


def write(report, folder, look, selecting):
    """Writes README.md, data/ and reproduce-NAME.sh of each figure. `look`: the options that decide how figures look; `selecting`:
    those by which some of the records were taken."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    copies = {}
    for file in dict.fromkeys(report.results.files):
        copies[file] = data / _unused(Path(file).name, copies.values())
        shutil.copyfile(file, copies[file])
    scripts = []
    for drawing in report.drawings():
        script = folder / f"reproduce-{drawing.name}.sh"
        script.write_text(_script(report, drawing, copies, look + selecting), encoding="utf-8")
        script.chmod(0o755)
        scripts.append((drawing, script.name))
    (folder / "README.md").write_text(_readme(report, scripts, copies), encoding="utf-8")


def _unused(name, taken):
    names = {path.name for path in taken}
    number = 2
    while name in names:
        name, number = f"{number}-{name}", number + 1
    return name


def _script(report, drawing, copies, options):
    # Figures are drawn from all files, as names contain the setup if there are several; a new measurement has one setup.
    files = [f"data/{copy.name}" for copy in copies.values()]
    lines = []
    for number, run in enumerate(measured_by.runs(report.results, drawing.points), start=1):
        target = f"measured/{drawing.name}-{number}.jsonl"
        exports = " ".join(f"{name}={shlex.quote(_line(value))}" for name, value in run.environment)
        lines.append("    (" if run.repetitions == 1 else f"    for _ in $(seq {run.repetitions}); do (")
        lines += [f"        export {exports}"] if exports else []
        lines += [f'        ln -sfn "$tutti" {run.link}'] if run.link else []
        lines += [f"        {run.again(target)}", "    )" if run.repetitions == 1 else "    ) done", f"    files+=({shlex.quote(target)})"]
    return SCRIPT.format(title=_line(drawing.title), details=_line(drawing.details), name=drawing.name,
                         measured=re.sub(r"-setup-([A-Z]|\d+)(?=-)", "", drawing.name),
                         options=_quoted(word for word in options if not word.startswith(NAMES)),
                         names=_quoted(word for word in options if word.startswith(NAMES)), files=_quoted(files),
                         measure="\n".join(lines or ["    echo 'the data does not say how' >&2", "    exit 1"]))


def _readme(report, scripts, copies):
    results = report.results
    facts = dict(provenance.rows(results))
    rows = [("algorithm", sorted({candidate.label for section in report.sections for candidate in section.candidates})),
            ("program", facts.get("tutti")), ("run-time environment", (facts.get("kernel") or []) + (facts.get("libraries") or [])),
            ("hardware", facts.get("CPU", []) + facts.get("GPU", []) + [f"virtual: {text}" for text in facts.get("virtual machine", [])]),
            ("ranks", [str(nranks) for nranks in sorted({one["key"]["nranks"] for one in results.points + results.steps})]),
            ("date", facts.get("date")), ("seed", facts.get("seed"))]
    runs = measured_by.runs(results, results.points + results.steps)
    compared = {}  # launches of each comparison
    for verdict in results.verdicts:
        compared[verdict["session"]] = max(compared.get(verdict["session"], 0), verdict["n_launch"])
    tools = [session["tool"] for session in results.sessions]
    commits = sorted({tool.get("git") or "" for tool in tools} - {""})
    build = [f"    git checkout {shlex.quote(_line(commit))} && scripts/build" for commit in commits] or ["    scripts/build"]
    if any(tool.get("dirty") for tool in tools):
        build.append("\n**The sources had changes that no commit has**: measure again with a committed tutti before publishing.")
    return README.format(
        figures=len(scripts), points=counted(len(results.points) + len(results.steps) + len(results.verdicts), "record"), files=counted(len(copies), "file"),
        launches=counted(results.launch_count() + sum(compared.values()), "launch", "launches"), selection=results.selection and f"; only {_text(results.selection)}",
        rows="\n".join(f"| {word} | {_cell(', '.join(texts))} |" for word, texts in rows if texts),
        notes="\n".join(f"- **{_text(note.mark)}**: {_text(note.text)}" for note in report.notes) or "- nothing",
        commands="\n".join(f"    {run.command}" for run in runs) or "    (not stored)",
        environment="\n".join(f"    {_line(text)}" for text in facts.get("environment", [])) or "    (none)",
        build="\n".join(build),
        scripts="\n".join(f"| {drawing.name} | `{script}` | {_cell(drawing.title)}, {_cell(drawing.details)} |" for drawing, script in scripts),
        sums="\n".join(f"| data/{_cell(copy.name)} | {hashlib.sha256(copy.read_bytes()).hexdigest()} |" for copy in copies.values()))


def _quoted(words):
    return " ".join(shlex.quote(_line(word)) for word in words)


def _line(text):
    """No line of a script or of a block may break."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)


def _text(text):
    """Escapes a text for Markdown."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", _line(text))


def _cell(text):
    return _text(text)
