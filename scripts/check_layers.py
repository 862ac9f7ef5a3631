#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says which #include points up the layers, or brings in a library's header where none belongs.

check_layers.py [FOLDER]: one line per offence, exit code 1 if there is any.
"""
import fnmatch
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

# Layer -> what its files may include besides their own layer: layers, or single headers.
BELOW_COLLECTIVES = ["base", "kernels", "topology"]
COLLECTIVES = ["collectives", "collectives/schedule", "collectives/algorithms",
               "collectives/device", "collectives/transport", "collectives/execute"]
BELOW_CLI = [*BELOW_COLLECTIVES, *COLLECTIVES, "results", "workloads", "autotune"]
MAY_INCLUDE = {
    "base": [],
    "kernels": ["base"],
    "topology": ["base"],
    "results": ["base"],
    "collectives/schedule": ["base"],
    "collectives/algorithms": ["base", "collectives/schedule", "topology/order.hpp",
                               "topology/placement.hpp"],
    "collectives/device": ["base", "kernels"],
    "collectives/transport": ["base", "topology", "collectives/schedule", "collectives/device"],
    "collectives/execute": [*BELOW_COLLECTIVES, *COLLECTIVES],
    "collectives": [*BELOW_COLLECTIVES, *COLLECTIVES],
    "workloads": [*BELOW_COLLECTIVES, *COLLECTIVES, "results"],
    "autotune": ["base", "topology", *COLLECTIVES, "results", "workloads"],
    "cli": BELOW_CLI,
    "tests": [*BELOW_CLI, "cli"],
}


class Library(NamedTuple):
    """A library's headers (as a regular expression), and the files that may include them."""
    headers: str
    adapters: list


SOURCES = ["*.cpp", "*.cu", "*.cuh"]
SIMULATED = "tests/simulated_gpu/*"  # is such a library itself
LIBRARIES = [
    Library(r"mpi\.h", ["collectives/transport/mpi*.cpp", "collectives/execute/mpi*.cpp",
                       "docs/examples/*.cpp", "tests/autotune/over_mpi.cpp"]),
    Library(r"hwloc(\.h|/.*)", ["topology/detect_hwloc.cpp"]),
    Library(r"tinyxml2\.h", SOURCES),
    Library(r"uc[pst]/.*", SOURCES),
    Library(r"cuda.*\.h|cuda/.*|cooperative_groups.*", [*SOURCES, SIMULATED]),
    Library(r"nccl.*\.h", [*SOURCES, SIMULATED]),
]

CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


class Include(NamedTuple):
    file: str    # path from the root, with slashes
    line: int
    target: str  # as written between the quotes or brackets
    quoted: bool


def code_files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        yield from (Path(folder, f) for f in sorted(files) if Path(f).suffix in CODE)


def includes_of(root: Path, path: Path) -> Iterator[Include]:
    file = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield Include(file, number, match[2], quoted=match[1] == '"')


def layer_of(file: str) -> Optional[str]:
    """The innermost layer that holds this file; none for files outside all of them."""
    folder = posixpath.dirname(file)
    while folder and folder not in MAY_INCLUDE:
        folder = posixpath.dirname(folder)
    return folder or None


def included_file(include: Include) -> str:
    """Headers are named from the root; a bare name is one in the includer's own folder."""
    if layer_of(include.target):
        return include.target
    return posixpath.normpath(posixpath.join(posixpath.dirname(include.file), include.target))


def layer_offence(include: Include) -> Optional[str]:
    target = included_file(include)
    upper, lower = layer_of(include.file), layer_of(target)
    if not include.quoted or upper is None or lower is None or upper == lower:
        return None
    if lower in MAY_INCLUDE[upper] or target in MAY_INCLUDE[upper]:
        return None
    return f"layer {upper} may not include layer {lower} ({target})"


def library_offence(include: Include) -> Optional[str]:
    for library in LIBRARIES:
        if not re.fullmatch(library.headers, include.target):
            continue
        if not any(fnmatch.fnmatch(include.file, adapter) for adapter in library.adapters):
            return f"{include.target} may be included only by {' '.join(library.adapters)}"
    return None


def offences(root: Path) -> list:
    found = []
    for path in code_files(root):
        for include in includes_of(root, path):
            for offence in (layer_offence(include), library_offence(include)):
                if offence:
                    found.append(f"{include.file}:{include.line}: {offence}")
    return found


def main(arguments: list) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = offences(root)
    print("\n".join(found) if found else "layers: every include points down")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
