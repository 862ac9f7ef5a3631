# SPDX-License-Identifier: Apache-2.0
"""The tables of mutants."""
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    layer: str
    name: str
    what: str  # the bug, in words
    file: str
    old: str
    new: str
    tests: str  # of ctest, by a regular expression; what must notice it
    targets: tuple  # of the build, that these tests need
    filter: str = "*"  # as GoogleTest has it, or patterns of unittest, for speed: among its tests are those that must notice it
    timeout: int = 120  # seconds; a program that hangs has noticed, too

    def misfit(self, tree: Path):
        """Why it cannot be planted in the tree; None if it can."""
        path = tree / self.file
        if not path.is_file():
            return f"there is no {self.file}"
        found = path.read_text(encoding="utf-8").count(self.old)
        if found != 1:
            return f"its text is in {self.file} {found} times"
        return "it changes nothing" if self.old == self.new else None


def read_table(path: Path):
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    usual = table.get("usual", {})
    known = {field.name for field in fields(Mutant)} - {"layer"}
    mutants = []
    for row in table["mutant"]:
        row = usual | row
        if unknown := set(row) - known:
            raise ValueError(f"{path.name}: {row.get('name')} has unknown fields: {', '.join(sorted(unknown))}")
        row["targets"] = tuple(row["targets"])
        mutants.append(Mutant(layer=path.stem, **row))
    return mutants


def read_tables(folder: Path):
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in read_table(path)]
