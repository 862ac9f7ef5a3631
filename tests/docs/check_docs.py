#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says where the documentation has come apart from the code.

check_docs.py TUTTI           one line per fault, exit code 1 if there is any
check_docs.py --write TUTTI   first writes anew what the program makes: docs/reference/algorithms.md, schedules' pictures
"""
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALGORITHMS = "docs/reference/algorithms.md"
WRITE = "python3 tests/docs/check_docs.py --write build/tutti"
HEAD = """\
# Algorithms, transports, baselines

Generated from the catalog by `tutti list --markdown`; do not edit. After a change of the catalog type
`python3 tests/docs/check_docs.py --write build/tutti`. What an algorithm costs on P ranks, and every transfer
of it, is printed by `tutti show ALGORITHM COLLECTIVE --ranks P`. Some take a `segment` size, a `radix` or heed `nodes`;
all run in any order of the ranks and in several `channels` ([schedules](../background/schedules.md)).

"""
PICTURES = {"docs/pictures/ring-all-reduce-4.svg": ["show", "ring", "all_reduce", "--ranks", "4"]}
# What running the commands leaves behind, and what the worked example invents.
NOT_IN_THE_TREE = re.compile(r"build(-\w+)?/|results/demo/|collectives/algorithms/neighbour_exchange\.cpp$")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"\.?\w[\w.*-]*(/[\w.*-]+)*/?")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
SHELL = {"sh", "bash", "shell"}


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *([root / "CHANGELOG.md"] if (root / "CHANGELOG.md").exists() else []),
            *sorted((root / "docs").rglob("*.md"))]


def fault_of_algorithms(text, generated):
    if text == HEAD + generated:
        return []
    return [f"is not what `tutti list --markdown` says; type: {WRITE}"]


def picture(tutti, arguments):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "picture.svg"
        output_of(tutti, *arguments, "--svg", str(file))
        return file.read_text(encoding="utf-8")


def anchors(text):
    """The names that a page's headings can be linked by, as GitHub forms them."""
    headings = re.findall(r"^#+ +(.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def faults_of_links(page, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere
        name, _, anchor = target.partition("#")
        goal = (page.parent / name).resolve() if name else page
        if not goal.exists():
            yield f"links to {target}, which is not there"
        elif anchor and anchor not in anchors(goal.read_text(encoding="utf-8")):
            yield f"links to {target}, but no heading there is called so"


def mentioned_paths(text, top_level):
    """Words in code that begin with something at the top of the tree: `cli/`, `scripts/test -R x`."""
    for code in [*CODE.findall(FENCE.sub("", text)), *shell_lines(text)]:
        for word in code.split():
            word = word.strip(",;()")
            if PATH.fullmatch(word) and "/" in word and word.split("/")[0] in top_level:
                yield word


def faults_of_paths(root, text):
    top_level = {entry.name for entry in root.iterdir()} | {"build", "results"}
    for path in dict.fromkeys(mentioned_paths(text, top_level)):
        if NOT_IN_THE_TREE.match(path):
            continue
        if not any(root.glob(path.rstrip("/"))):
            yield f"mentions {path}, which is not there"


def shell_lines(text):
    for language, block in FENCE.findall(text):
        if language in SHELL:
            yield from block.replace("\\\n", " ").splitlines()


def tutti_calls(lines):
    """The words behind `tutti` in each command of each line."""
    for line in lines:
        words = shlex.split(line, comments=True)
        end = 0
        for start, word in enumerate(words):
            if start < end or word.rsplit("/", 1)[-1] != "tutti" or (start and words[start - 1] == "--target"):
                continue
            end = next((i for i in range(start, len(words)) if words[i] in ("&&", "|", ";", ">")), len(words))
            call = words[start + 1:end]
            both = call.index("--") if "--" in call else len(call)  # of compare: what both do
            yield call[:both]
            if call[both + 1:] and call[0] != "run":  # which starts any program
                yield call[both + 1:]


def calls_of(text):
    yield from tutti_calls(shell_lines(text))
    for code in CODE.findall(FENCE.sub("", text)):
        if re.match(r"(build/)?tutti \S", code):
            yield from tutti_calls([code])


def faults_of_calls(text, help_of):
    """`help_of(command)` is its help text; of the empty command that of tutti itself."""
    def named_in(text):
        return re.findall(r"^  ([a-z][\w-]*) {2,}", text, re.MULTILINE)
    commands = named_in(help_of(""))
    for words in calls_of(text):
        if not words or words[0] in ("COMMAND", "...") or words[0].startswith("-"):
            continue
        if words[0] not in commands:
            yield f"calls 'tutti {words[0]}', which is no command"
            continue
        command = words[0]
        if len(words) > 1 and not words[1].startswith("-") and words[1] in named_in(help_of(command)):
            command += " " + words[1]  # as 'tutti workload ddp': each has options of its own
        known = set(OPTION.findall(help_of(command)))
        for option in words[1:]:
            if re.fullmatch(r"--?[A-Za-z].*", option) and option.split("=")[0] not in known:
                yield f"calls 'tutti {command}' with {option}, which it does not know"


def output_of(tutti, *arguments):
    return subprocess.run([tutti, *arguments], check=True, capture_output=True, text=True).stdout


def main(arguments):
    write = arguments[:1] == ["--write"]
    if len(arguments) != 1 + write:
        sys.exit(__doc__)
    tutti = str(Path(arguments[-1]).resolve())
    generated = output_of(tutti, "list", "--markdown")
    pictures = {name: picture(tutti, call) for name, call in PICTURES.items()}
    if write:
        for name, text in {ALGORITHMS: HEAD + generated, **pictures}.items():
            (ROOT / name).write_text(text, encoding="utf-8")

    helps = {}

    def help_of(command):
        if command not in helps:
            helps[command] = output_of(tutti, *command.split(), "--help")
        return helps[command]

    faults = 0
    for name, drawn in pictures.items():
        if (ROOT / name).read_text(encoding="utf-8") != drawn:
            print(f"{name} is not what `tutti {' '.join(PICTURES[name])}` draws; type: {WRITE}")
            faults += 1
    for page in pages(ROOT):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT).as_posix()
        found = [*faults_of_links(page, text), *faults_of_paths(ROOT, text), *faults_of_calls(text, help_of)]
        if name == ALGORITHMS:
            found += fault_of_algorithms(text, generated)
        for fault in found:
            print(f"{name} {fault}")
        faults += len(found)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
