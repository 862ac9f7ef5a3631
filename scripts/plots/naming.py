# SPDX-License-Identifier: Apache-2.0
"""The reader's own names of algorithms, transports, libraries and setups, and the letters of setups."""

from collections import Counter
from dataclasses import dataclass, field

from tutti.lines import ResultsError


@dataclass(frozen=True, order=True)
class Setup:
    """A machine with its libraries: its letter, the facts that tell it from the others, and the reader's name for it. Without a
    letter where the files come from one setup."""

    letter: str = ""
    facts: str = ""
    name: str = ""

    def __bool__(self):
        return bool(self.letter)

    @property
    def title(self):
        return self.name or self.letter and f"setup {self.letter}"

    @property
    def short(self):
        return self.name or self.letter

    @property
    def details(self):
        return self.name or self.letter and f"setup {self.letter}: {self.facts}"

    @property
    def slug(self):
        """The same for all names, as it is part of the names of files."""
        return self.letter and f"setup-{self.letter}"


@dataclass(frozen=True)
class Names:
    parts: dict = field(default_factory=dict)   # names by algorithm, transport, library, or whole candidate such as ring/shm
    setups: dict = field(default_factory=dict)  # names by letter

    def part(self, name):
        return self.parts.get(name, name)

    def setup(self, text):
        """`text` is "setup A: facts", or empty."""
        letter, _, facts = text.removeprefix("setup ").partition(": ")
        return Setup(letter, facts, self.setups.get(letter, ""))


def key_of(setups):
    """Explains the letters of setups that have no other name."""
    return " · ".join(f"{one.letter}: {one.facts}".replace(" ", "\u00a0") for one in sorted(set(setups)) if one and not one.name)


def check(names, candidates, methods, setups):
    """Raises ResultsError for a name of what is not there, and where two candidates get the same one."""
    letters = sorted({one.letter for one in setups if one})
    for letter in names.setups:
        if letter not in letters:
            raise ResultsError(f"--machine-name {letter}: no setup has this letter; " +
                               (f"use {', '.join(letters)}" if letters else "the files come from one setup, which needs no name"))
    known = {name for candidate in candidates for name in candidate.spellings} | set(methods)
    for name in names.parts:
        if name not in known:
            raise ResultsError(f"--rename '{name}': no algorithm, transport or library has this name; use {', '.join(sorted(known - {''}))}")
    twice = [name for name, count in Counter(candidate.name for candidate in candidates).items() if count > 1]
    if twice:
        raise ResultsError(f"--rename gives several candidates the name '{twice[0]}'; use another name for each")
