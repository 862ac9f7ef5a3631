#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says whether the libraries still export what programs were linked against: library/exported.txt.

check_abi.py BUILD            one line per difference, exit code 1 if there is any
check_abi.py --write BUILD    rewrites library/exported.txt
"""
import difflib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "library/exported.txt"
WRITE = "python3 tests/package/check_abi.py --write build"


def exported(library):
    """The names of its own code and data. Inline functions (W, V, u) are a part of each program, too; and what only MPI 4 has
    (MPI_Bcast_c) is there or not as the MPI library has it."""
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = (line.split(maxsplit=2)[1:] for line in lines.splitlines())
    names = {name.split("@")[0] for kind, name in symbols if kind not in "WVuA"}
    return sorted(name for name in names if not re.fullmatch(r"P?MPI_\w+_c", name))


def main(arguments):
    write = arguments[:1] == ["--write"]
    if len(arguments) != 1 + write:
        sys.exit(__doc__)
    now = []
    for library in sorted(Path(arguments[-1]).glob("libtutti*.so")):
        if library.name == "libtutti_mpi_abi.so":  # exports the same as libtutti_mpi; not every build has it
            continue
        now += [f"{library.resolve().name.split('.so')[0]}: {name}\n" for name in exported(library)]
    if write:
        LIST.write_text("".join(now), encoding="utf-8")
    before = LIST.read_text(encoding="utf-8").splitlines(keepends=True) if LIST.exists() else []
    differences = [line for line in difflib.unified_diff(before, now, n=0) if line[:2] not in ("--", "++", "@@")]
    sys.stdout.writelines(differences)
    if any(line.startswith("-") for line in differences):
        print("Programs that were linked against what is gone (-) would not start: raise TUTTI_ABI in CMakeLists.txt, unless it is higher\n"
              f"than that of the last release already, then type: {WRITE}")
    elif differences:
        print(f"There is more than was known (+), which harms no program; use: {WRITE}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
