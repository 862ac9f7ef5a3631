# SPDX-License-Identifier: Apache-2.0
"""The rules that check_words counts. Each function returns the places that break it, or None if it cannot be checked."""
import ast
import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from texts import language_of, sources, texts_of

ROOT = Path(__file__).resolve().parents[2]
FIRST_CHECKED_COMMIT = "5cffbdc5"  # subjects before it follow other rules
MOST_OF_A_SUBJECT = 72

QUAINT = re.compile(r"\b(nobody|whoever|whomever|anew|behind|beside|beneath|lest|forth|so (many|much|long|few))\b", re.IGNORECASE)
BEGINS = re.compile(r"(of|what|as|who|whoever|which)\b", re.IGNORECASE)
PROSE_WORD = re.compile(r"[(\"']?[A-Za-z][a-z']+[,.:;!?)\"']*$")


@lru_cache(maxsize=None)
def texts():
    return [text for path in sources(ROOT) for text in texts_of(ROOT, path)]


def place(text):
    return f"{text.file}:{text.line}: {' '.join(text.text.split())[:150]}"


def comments_without_subject():
    """Comments that begin with Of, What, As, Who, Whoever or Which."""
    return [place(text) for text in texts() if text.kind == "comment" and text.is_block and BEGINS.match(text.text)]


def notes_without_subject():
    """The same for comments that follow code."""
    return [place(text) for text in texts() if text.kind == "comment" and not text.is_block and BEGINS.match(text.text)]


def quaint_words():
    return [f"{text.file}:{text.line}: {match[0]}: {' '.join(text.text.split())[:120]}"
            for text in texts() if text.file != "tests/words/rules.py" for match in QUAINT.finditer(text.text)]


def type_as_advice():
    """Messages that say "type ..."."""
    return [place(text) for text in texts() if text.kind == "string" and re.search(r"[;,] type:? ", text.text)
            and not text.file.startswith("tests/words/")]


def help_lines():
    """Descriptions of options and commands that cannot be read alone."""
    executable = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
    if not Path(executable).exists():
        return None

    def help_of(*words):
        return subprocess.run([executable, *words, "--help"], capture_output=True, text=True, check=True).stdout

    bad = []
    commands = re.findall(r"(?m)^  ([a-z]+)  ", help_of())
    for command in [[]] + [[one] for one in commands]:
        for name, description in described(help_of(*command)):
            words = description.split()
            if len(words) < 3 or words[0].lower() in ("of", "also", "else", "as", "who", "so", "and", "or", "which", "what"):
                bad.append(f"tutti {' '.join(command)} {name}: {description}")
    return bad


def described(text):
    """Returns (name, description) of each row of a help screen. A description goes on in lines without a name.

    A range such as "INT in [2 - 64]" that fills its column is followed by one space."""
    rows = []
    for line in text.split("\n"):
        if match := re.match(r"  (\S.*?)(?:  +|(?<=\]) (?=[A-Z])|$)(.*)", line):
            rows.append([match[1], match[2]])
        elif line.startswith("      ") and rows:
            rows[-1][1] += " " + line.strip()
        elif not line.strip():
            rows.append(["", ""])
    return [(name, description.strip()) for name, description in rows if name]


def commit_subjects():
    """Subjects of new commits that are longer than 72 characters or not `area: imperative`."""
    if not (ROOT / ".git").exists():
        return None
    listed = subprocess.run(["git", "log", "--no-merges", "--format=%h %s", f"{FIRST_CHECKED_COMMIT}..HEAD"], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    if listed.returncode != 0:  # a shallow clone
        return None
    return [line for line in listed.stdout.splitlines() if not is_subject(line.split(" ", 1)[1])]


def is_subject(subject):
    match = re.match(r"[a-z][\w/., -]*: ([a-z]+)\b", subject)
    if not match or len(subject) > MOST_OF_A_SUBJECT:
        return False
    verb = match[1]
    return not (verb in ("a", "an", "the") or verb.endswith("ing") and verb != "bring"
                or verb.endswith("s") and not verb.endswith("ss"))


# Programs, names of metrics, and lines whose words nccl-tests has fixed.
NOT_PROSE = re.compile(r"#include|#!/|\$[({]|>>|&&|__global__|\bdef \w+\(|```|import os|\[\[|; *[})]|sleep \d|complete --do|\bfloat (sum|none|root)\b|return at|SELECT |[Ss]elect |import sys|^\W*\| "
                       r"|Out of bounds values|Avg bus bandwidth")


def is_prose(literal):
    return not NOT_PROSE.search(literal) and sum(bool(PROSE_WORD.match(word)) for word in literal.split()) >= 4


def prose_in_tests():
    """String literals of four or more words that tests compare with: all in them but messages, skips and inputs of commands."""
    found = []
    for path in sources(ROOT / "tests"):
        file = path.relative_to(ROOT).as_posix()
        if not re.search(r"(_test\.(cpp|hpp|py)|/test_\w+\.py)$", file) or file.startswith(("tests/golden/", "tests/words/")):
            continue
        if file == "tests/cli/refusals_test.py":  # a list of commands
            continue
        of_file = prose_of_python if language_of(path) == "py" else prose_of_cpp
        found += [f"{file}:{line}: {text}" for line, text in of_file(path.read_text(encoding="utf-8"))]
    return found


NOT_COMPARED = ("fail", "skip", "skipTest", "skipIf", "skipUnless", "print", "exit", "AssertionError", "RuntimeError", "wait_until")
CPP_STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


def prose_of_cpp(text):
    text = re.sub(r"(?m)//[^\n\"]*$", "", text)
    for literal in CPP_STRINGS.finditer(text):
        is_message = re.search(r"(<<|GTEST_SKIP\(\)|throw \w+[({])\s*$", text[:literal.start()][-60:])
        if is_prose(literal[0]) and not is_message:
            yield text.count("\n", 0, literal.start()) + 1, " ".join(literal[0].split())[:150]


class Literals(ast.NodeVisitor):
    """Collects the literals of a file that are prose."""

    def __init__(self):
        self.found = []

    def visit_Call(self, node):  # pylint: disable=invalid-name
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in NOT_COMPARED:
            return
        if name.startswith("assert"):  # the message of an assertion
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "msg"]
            node.args = node.args[:1 if name in ("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone") else 2]
        self.generic_visit(node)

    def visit_Expr(self, node):  # pylint: disable=invalid-name
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Constant(self, node):  # pylint: disable=invalid-name
        if isinstance(node.value, str) and is_prose(node.value):
            self.found.append((node.lineno, " ".join(node.value.split())[:150]))


def prose_of_python(text):
    literals = Literals()
    literals.visit(ast.parse(text))
    return literals.found


ALL = {rule.__name__: rule for rule in (comments_without_subject, notes_without_subject, quaint_words, type_as_advice, help_lines,
                                        commit_subjects, prose_in_tests)}
