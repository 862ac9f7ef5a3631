# SPDX-License-Identifier: Apache-2.0
"""The tables of mutants."""
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from pattern import NoPlace, find, planted


@dataclass(frozen=True)
class Mutant:
    layer: str
    name: str
    what: str  # the bug, in a sentence
    file: str  # where the code is, or was: it may move
    old: str  # a piece of code, a pattern of pattern.py
    new: str  # the same piece with the bug
    tests: str  # a regular expression for ctest: the tests that must fail
    targets: tuple  # build targets that these tests need
    function: str = ""  # called `in` in the tables; needed where several places look like `old`
    filter: str = "*"  # for speed: of GoogleTest, or patterns of unittest. It keeps the tests that must fail
    timeout: int = 120  # seconds; a test that hangs has failed, too

    def place(self, tree: Path):
        return find(tree, self.file, self.old, self.function)

    def misfit(self, tree: Path):
        """Why it cannot be planted in the tree; None if it can."""
        if self.file.startswith("tests/"):
            return "it changes a test; plant bugs in what is tested"
        try:
            place = self.place(tree)
        except NoPlace as why:
            return str(why)
        return "it changes nothing" if planted(place, self.new) == place.path.read_text(encoding="utf-8") else None


def read_table(path: Path):
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    usual = table.get("usual", {})
    known = {field.name for field in fields(Mutant)} - {"layer"}
    mutants = []
    for row in table["mutant"]:
        row = usual | row
        row["function"] = row.pop("in", "")
        if unknown := set(row) - known:
            raise ValueError(f"{path.name}: {row.get('name')} has unknown fields: {', '.join(sorted(unknown))}")
        row["targets"] = tuple(row["targets"])
        mutants.append(Mutant(layer=path.stem, **row))
    return mutants


def read_tables(folder: Path):
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in read_table(path)]
