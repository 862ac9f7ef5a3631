# SPDX-License-Identifier: Apache-2.0
"""Takes comments and string literals out of sources, so that their words can be checked."""
import ast
import io
import re
import tokenize
from pathlib import Path
from typing import Iterator, NamedTuple

CPP = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".in"}
CPP_PART = re.compile(r'(?P<comment>//[^\n]*|/\*(?s:.*?)\*/)|(?P<string>R"(?P<raw>[^(\s]*)\((?s:.*?)\)(?P=raw)"|"(?:[^"\\\n]|\\.)*")'
                      r"|'(?:[^'\\\n]|\\.)+'")
SHELL_PART = re.compile(r"""(?P<comment>(?:(?<=\s)|(?<![^\n]))#[^\n]*)|(?P<string>"(?:[^"\\]|\\.)*"|'[^']*')""")
# Texts that are not ours to word: recorded files, texts of others, formats.
SKIPPED = re.compile(r"(build[^/]*|\.git|results/reference|tests/fuzz/corpus|tests/golden/.*/.*|tests/scripts/formats|tests/topology/trees"
                     r"|tests/autotune/data|workloads/traces/recorded|LICENSE)(/|$)")


class Text(NamedTuple):
    file: str
    line: int
    kind: str  # comment, string or page
    text: str
    is_block: bool = False  # a comment alone on its lines, all of them; not one that follows code


def sources(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and not SKIPPED.match(path.relative_to(root).as_posix()) and not path.is_symlink():
            yield path


def language_of(path: Path):
    if path.suffix in CPP:
        return "cpp"
    if path.suffix in (".py", ".md", ".toml", ".sh"):
        return path.suffix[1:]
    if path.name == "CMakeLists.txt" or path.suffix == ".cmake":
        return "cmake"
    if path.suffix:
        return None
    begin = path.read_bytes()[:100]
    if not begin.startswith(b"#!"):
        return None
    return "py" if b"python" in begin.split(b"\n")[0] else "sh"


def joined(file, comments):
    """Comments on lines that follow each other are one block."""
    block = None
    for line, text, is_alone in comments:
        if block and is_alone and block.is_block and line == block.line + block.text.count("\n") + 1:
            block = block._replace(text=block.text + "\n" + text)
            continue
        if block:
            yield block
        block = Text(file, line, "comment", text, is_alone)
    if block:
        yield block


def by_pattern(file, text, pattern):
    comments = []
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.lastgroup == "comment":
            before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            # One line for each line of the source, so that blocks can be joined.
            plain = re.sub(r"(?m)^\s*(///?|/\*+|\*(?!/)|#+)? ?", "", match[0]).removesuffix("*/")
            comments.append((line, plain.strip(), not before.strip()))
        elif match["string"]:
            yield Text(file, line, "string", match["string"])
    yield from joined(file, comments)


def of_python(file, text):
    docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            docstrings.add(node.body[0].lineno)
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            comments.append((line, token.string.lstrip("#").strip(), not token.line[:token.start[1]].strip()))
        elif token.type == tokenize.STRING and line in docstrings:
            yield Text(file, line, "comment", token.string.strip("\"'rf").strip(), True)
        elif token.type == tokenize.STRING:
            yield Text(file, line, "string", token.string)
    yield from joined(file, comments)


def of_page(file, text):
    """Each paragraph of a page, without code."""
    text = re.sub(r"(?ms)^(```|~~~).*?^\1", lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Text(file, number, "page", re.sub(r"`[^`]*`", "``", line))


def texts_of(root: Path, path: Path) -> Iterator[Text]:
    file, language = path.relative_to(root).as_posix(), language_of(path)
    if language is None:
        return
    text = path.read_text(encoding="utf-8")
    if language == "py":
        yield from of_python(file, text)
    elif language == "md":
        yield from of_page(file, text)
    else:
        yield from by_pattern(file, text, CPP_PART if language == "cpp" else SHELL_PART)
