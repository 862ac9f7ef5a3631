# SPDX-License-Identifier: Apache-2.0
"""Finds the place in the sources that a row of a table means, also after renames, new line breaks and moves.

A pattern is a piece of code. It is compared token by token, without white space and comments. A name in it (and a string
literal) stands for any name (string), the same one for each occurrence; so renames do not matter. Where several places
look alike, the one that agrees in most names is meant, and `in`, the function around it, counts for two names.
"""
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Optional

CPP = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
CPP_KEYWORDS = frozenset("""
    alignas auto bool break case catch char class const const_cast consteval constexpr continue default delete do double else
    enum explicit false float for friend goto if inline int long mutable namespace new noexcept nullptr operator private
    protected public reinterpret_cast requires return short signed sizeof static static_assert static_cast std struct switch
    template this throw true try typename union unsigned using virtual void volatile while""".split())
PYTHON_KEYWORDS = frozenset("""
    False None True and as assert break class continue def del elif else except finally for from if import in is lambda
    nonlocal not or pass raise return self try while with yield dict int len list max min range set sorted str sum tuple
    zip""".split())

OPERATORS = r"<=>|<<=|>>=|->\*|\.\.\.|\*\*|//|::|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|\S"
NUMBER = r"\.?\d(?:'?[\w.])*"
NAME = r"[A-Za-z_]\w*"
CPP_STRING = r'R"(?P<raw>[^(\s]*)\((?s:.*?)\)(?P=raw)"|"(?:[^"\\\n]|\\.)*"'
PYTHON_STRING = r"""(?:[rbfuRBFU]{0,2})(?:\"{3}(?s:.*?)\"{3}|'{3}(?s:.*?)'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
CPP_TOKEN = re.compile(rf"(?P<skip>\s+|//[^\n]*|/\*(?s:.*?)\*/)|(?P<string>{CPP_STRING})|(?P<number>{NUMBER}|'(?:[^'\\]|\\.)+')"
                       rf"|(?P<name>{NAME})|(?P<operator>{OPERATORS})")
PYTHON_TOKEN = re.compile(rf"(?P<skip>\s+|#[^\n]*)|(?P<string>{PYTHON_STRING})|(?P<number>{NUMBER})|(?P<name>{NAME})"
                          rf"|(?P<operator>{OPERATORS})")
# Patterns within a string literal (a query, a format), and texts that are neither C++ nor Python.
WORD_TOKEN = re.compile(rf"(?P<skip>\s+)|(?P<number>{NUMBER})|(?P<name>{NAME})|(?P<operator>{OPERATORS})")


class Token(NamedTuple):
    kind: str  # name and string stand for any of their kind in a pattern; number, operator and keyword for themselves
    text: str
    begin: int
    end: int


class Language(NamedTuple):
    token: re.Pattern
    keywords: frozenset


WORDS = Language(WORD_TOKEN, PYTHON_KEYWORDS)


def languages_of(path: Path):
    """The ways to read a file, the best one first."""
    if path.suffix in CPP:
        return Language(CPP_TOKEN, CPP_KEYWORDS), Language(WORD_TOKEN, CPP_KEYWORDS)
    if path.suffix == ".py":
        return Language(PYTHON_TOKEN, PYTHON_KEYWORDS), WORDS
    return (WORDS,)


@lru_cache(maxsize=None)
def tokens_of(text: str, language: Language):
    tokens = []
    for match in language.token.finditer(text):
        kind, found = match.lastgroup, match[0]
        if kind == "raw":
            kind = "string"
        if kind == "skip":
            continue
        if kind == "name" and found in language.keywords:
            kind = "keyword"
        if kind == "string" and tokens and tokens[-1].kind == "string":  # parts of one literal
            first = tokens.pop()
            tokens.append(Token(kind, text[first.begin:match.end()], first.begin, match.end()))
        else:
            tokens.append(Token(kind, found, match.start(), match.end()))
    return tokens


@dataclass(frozen=True)
class Place:
    path: Path
    language: Language
    begin: int
    end: int
    meant: dict  # name of the pattern -> name in the source
    agreeing: int  # names that are the same in both, and two for the function

    def line(self, text):
        return text.count("\n", 0, self.begin) + 1


def bound_names(pattern, tokens, start):
    """The names that stand for the pattern's if it fits the tokens at `start`; None if it does not."""
    meant = {}
    for offset, wanted in enumerate(pattern):
        token = tokens[start + offset]
        if token.kind != wanted.kind:
            return None
        if wanted.kind in ("name", "string"):
            if meant.setdefault(wanted.text, token.text) != token.text:
                return None
        elif token.text != wanted.text:
            return None
    return meant


def places_in(path: Path, pattern_text: str, function: str):
    text = path.read_text(encoding="utf-8")
    for language in languages_of(path):
        pattern, tokens = tokens_of(pattern_text, language), tokens_of(text, language)
        found = []
        for start in range(len(tokens) - len(pattern) + 1):
            meant = bound_names(pattern, tokens, start)
            if meant is None:
                continue
            agreeing = sum(name == source for name, source in meant.items())
            if function and function_at(path, text, tokens[start].begin) == function:
                agreeing += 2
            found.append(Place(path, language, tokens[start].begin, tokens[start + len(pattern) - 1].end, meant, agreeing))
        if found:
            return found
    return []


@lru_cache(maxsize=None)
def cpp_functions(text: str):
    """(begin, end, name) of each function with a body."""
    functions, stack, parentheses = [], [], 0
    header, name = [], None
    for token in tokens_of(text, Language(CPP_TOKEN, CPP_KEYWORDS)):
        if token.text in "([":
            parentheses += 1
        elif token.text in ")]":
            parentheses -= 1
        if token.text == "{":
            is_member = is_in_member_list(header)
            name = None if any(one for one, *_ in stack) or is_member else named_function(header)
            stack.append((name, token.begin, parentheses, header if is_member else None))
            parentheses, header = 0, []
        elif token.text == "}" and stack:
            name, begin, parentheses, before = stack.pop()
            if name:
                functions.append((begin, token.end, name))
            header = before + [token] if before else []
        elif token.text == ";" and parentheses == 0:
            header = []
        else:
            header.append(token)
    return functions


def named_function(header):
    if header and header[0].text in ("namespace", "enum", "using"):
        return None
    for before, token in zip(header, header[1:]):
        if token.text == "(" and (before.kind == "name" or before.text == "operator"):
            return before.text
    return None


def is_in_member_list(header):
    """Whether `{` after this header begins a member's value, as in `Ring(int ranks) : ranks_{ranks} {`."""
    if not header or header[-1].kind != "name":
        return False
    return any(a.text == ")" and b.text == ":" for a, b in zip(header, header[1:]))


def function_at(path: Path, text: str, place: int) -> Optional[str]:
    if path.suffix in CPP:
        return next((name for begin, end, name in cpp_functions(text) if begin <= place < end), None)
    lines = text[:place].split("\n")
    least = indent_of(lines[-1])
    for line in reversed(lines[:-1]):
        indent = indent_of(line)
        if line.strip() and indent < least:
            least = indent
            if match := re.match(r"\s*(?:async )?def (\w+)", line):
                return match[1]
    return None


class NoPlace(Exception):
    pass


def clearest(places):
    """The place that agrees best, and no other as well."""
    most = max((place.agreeing for place in places), default=0)
    best = [place for place in places if place.agreeing == most]
    return best[0] if len(best) == 1 else None


@lru_cache(maxsize=None)
def sources_of(tree: Path, suffixes: frozenset):
    skipped = re.compile(r"(build|\.|tests/)")
    return [path for path in sorted(tree.rglob("*")) if path.suffix in suffixes and path.is_file()
            and not skipped.match(str(path.relative_to(tree)))]


def find(tree: Path, file: str, pattern: str, function: str = "") -> Place:
    """Looks in the file first, and, if nothing there agrees in half of the names, everywhere."""
    path = tree / file
    language = languages_of(Path(file))[0]
    needed = len({token.text for token in tokens_of(pattern, language) if token.kind in ("name", "string")}) / 2
    here = places_in(path, pattern, function) if path.is_file() else []
    best = clearest(here)
    if best and best.agreeing >= needed:
        return best
    suffixes = frozenset(CPP if path.suffix in CPP else {path.suffix})
    # A file that was moved as a whole keeps its name, which counts for two names of the pattern.
    elsewhere = [replace(place, agreeing=place.agreeing + 2 * (source.name == path.name))
                 for source in sources_of(tree, suffixes) if source != path
                 for place in places_in(source, pattern, function)]
    moved = clearest(elsewhere)
    if moved and moved.agreeing >= max(needed, 1) and moved.agreeing > max((place.agreeing for place in here), default=0):
        return moved
    if len(here) == 1:
        return here[0]
    if here:
        text = path.read_text(encoding="utf-8")
        most = max(place.agreeing for place in here)
        lines = ", ".join(str(place.line(text)) for place in here if place.agreeing == most)
        raise NoPlace(f"several places in {file} look like `old` (lines {lines}): name the function by `in`, or quote more")
    raise NoPlace(f"nothing looks like `old` in {file}" + ("" if path.is_file() else ", which is not there,")
                  + " and no single place elsewhere does")


def planted(place: Place, new: str) -> str:
    """The text of the place's file with `new` there: with the names of the source, indented as the place is."""
    text = place.path.read_text(encoding="utf-8")
    before, after = text[:place.begin], text[place.end:]
    line = before[before.rfind("\n") + 1:]
    if not new.strip() and not line.strip() and after.startswith("\n"):  # whole lines
        return before[:len(before) - len(line)] + after[1:]
    parts, at = [], 0
    for token in tokens_of(new, place.language):
        parts += [new[at:token.begin], place.meant.get(token.text, token.text)]
        at = token.end
    new = "".join(parts + [new[at:]]).strip("\n").rstrip()
    first, *more = new.split("\n")
    shift = indent_of(line) - indent_of(first)
    lines = [first.strip()] + [" " * (indent_of(one) + shift) + one.strip() for one in more]
    return before + "\n".join(lines) + after


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
