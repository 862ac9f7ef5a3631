#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds includes that point up the layers, includes that form a circle between folders, and headers of libraries outside of
their adapters. Large folders and files are only mentioned: cut by idea, not by size.

check_layers.py [FOLDER]: one line for each offence, exit code 1 if there is any.
"""
import fnmatch
import graphlib
import os
import posixpath
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Iterator, NamedTuple, Optional

# Layer -> what its files may include: folders with their subfolders, or single headers. A file belongs to the innermost
# layer that contains it, and may include files of its own layer. Folders within a layer may include each other without a
# circle.
BELOW_COLLECTIVES = ["base", "kernels", "topology"]
CHOOSING = ["autotune/choice", "autotune/model", "autotune/table", "autotune/online"]
PUBLIC = "library/include"
BELOW_CLI = [*BELOW_COLLECTIVES, "results", "collectives", "workloads", "autotune", "library"]
MAY_INCLUDE = {
    "base": [],
    "kernels": ["base"],
    "topology": ["base"],
    "results": ["base"],
    "collectives/schedule": ["base"],
    "collectives/algorithms": ["base", "collectives/schedule", "topology/placement"],
    "collectives/formats": ["base", "topology/import/xml.hpp", "collectives/schedule"],
    "collectives/device": ["base", "kernels"],
    "collectives/heap": [],  # is preloaded into any program
    "collectives/world": ["base", "topology", "collectives/heap/tutti_heap.h"],
    "collectives/transport": ["base", "topology", "collectives/schedule", "collectives/device",
                              "collectives/world"],
    "collectives": [*BELOW_COLLECTIVES, "collectives"],
    "workloads": [*BELOW_COLLECTIVES, "collectives", "results"],
    **{folder: ["base", "topology", "collectives", "results", *CHOOSING] for folder in CHOOSING},
    "autotune/search": ["base", "results", "autotune/choice"],
    "autotune": ["base", "topology", "collectives", "results", "workloads", "autotune"],
    "library": ["base", "topology", "collectives", "results", *CHOOSING],
    "library/mpi": [*BELOW_COLLECTIVES, "collectives", "results", *CHOOSING, "library"],
    "library/nccl": ["base", "collectives/baselines", "autotune/choice", "autotune/table"],
    "cli": [*BELOW_CLI],
    "tests": [*BELOW_CLI, "cli"],
}

# Larger folders and files are mentioned, except in tests.
MOST_FILES = 40
MOST_LINES = 400
OF_ANY_SIZE = ("tests",)


class Library(NamedTuple):
    """A library's headers (as a regular expression), and the files that may include them."""
    headers: str
    adapters: list


SOURCES = ["*.cpp", "*.cu", "*.cuh"]
SIMULATED = "tests/simulated_gpu/*"  # is itself such a library
LIBRARIES = [
    Library(r"mpi\.h", ["collectives/transport/messages/mpi*.cpp", "collectives/transport/messages/mpi_library.hpp",
                       "collectives/baselines/mpi*.cpp", "library/mpi/*",
                       "docs/examples/*.cpp", "tests/autotune/over_mpi.cpp",
                       "tests/workloads/bare_*", "tests/workloads/seen_by_mpi.cpp", "tests/library/preload_*",
                       "tests/library/mpi/unusual/*", "tests/collectives/empty_exchanges_over_mpi.cpp"]),
    Library(r"hwloc(\.h|/.*)", ["topology/detect/detect_hwloc.cpp"]),
    Library(r"tinyxml2\.h", SOURCES),
    Library(r"zlib\.h", ["workloads/traces/gzip.cpp"]),
    Library(r"uc[pst]/.*", SOURCES),
    Library(r"cuda.*\.h|cuda/.*|cooperative_groups.*", [*SOURCES, SIMULATED]),
    Library(r"nccl.*\.h", [*SOURCES, SIMULATED]),
]

CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


class Include(NamedTuple):
    file: str    # path from the root, with slashes
    line: int
    target: str  # text between the quotes or brackets
    quoted: bool  # or a public header of the library, which programs write in brackets


def code_files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        yield from (Path(folder, f) for f in sorted(files) if Path(f).suffix in CODE)


def includes_of(root: Path, path: Path) -> Iterator[Include]:
    file = path.relative_to(root).as_posix()
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield Include(file, number, match[2], quoted=match[1] == '"' or match[2].startswith("tutti/"))


def folder_of(file: str) -> str:
    return posixpath.dirname(file)


def layer_of(file: str) -> Optional[str]:
    """The innermost layer that contains this file, if any."""
    folder = folder_of(file)
    while folder and folder not in MAY_INCLUDE:
        folder = folder_of(folder)
    return folder or None


def included_file(include: Include) -> str:
    """Headers are named from the root; a bare name is one in the includer's own folder."""
    if include.target.startswith("tutti/"):
        return posixpath.join(PUBLIC, include.target)
    if layer_of(include.target):
        return include.target
    return posixpath.normpath(posixpath.join(folder_of(include.file), include.target))


def lies_in(file: str, place: str) -> bool:
    return file == place or file.startswith(place + "/")


def layer_offence(include: Include) -> Optional[str]:
    target = included_file(include)
    upper, lower = layer_of(include.file), layer_of(target)
    if not include.quoted or upper is None or lower is None or upper == lower:
        return None
    if any(lies_in(target, place) for place in MAY_INCLUDE[upper]):
        return None
    return f"layer {upper} may not include layer {lower} ({target})"


def library_offence(include: Include) -> Optional[str]:
    for library in LIBRARIES:
        if not re.fullmatch(library.headers, include.target):
            continue
        if not any(fnmatch.fnmatch(include.file, adapter) for adapter in library.adapters):
            return f"{include.target} may be included only by {' '.join(library.adapters)}"
    return None


def circle(includes: list) -> list:
    """The includes that lead from a folder back to itself, if any."""
    between = {}
    for include in includes:
        target = included_file(include)
        ends = (folder_of(include.file), folder_of(target))
        if include.quoted and ends[0] != ends[1] and layer_of(include.file) and layer_of(target):
            between.setdefault(ends, include)
    graph = {}
    for upper, lower in between:
        graph.setdefault(upper, []).append(lower)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        folders = error.args[1]  # each is included by the next
        return [between[(upper, lower)] for lower, upper in zip(folders, folders[1:])]
    return []


def size_advice(root: Path) -> list:
    paths = list(code_files(root))
    files = [path.relative_to(root).as_posix() for path in paths]
    counted = [(file, path) for file, path in zip(files, paths)
               if layer_of(file) and not any(lies_in(file, place) for place in OF_ANY_SIZE)]
    found = [f"{folder}: {number} source files; is there a second idea in it?"
             for folder, number in Counter(folder_of(file) for file, _ in counted).items() if number > MOST_FILES]
    for file, path in counted:
        lines = len(path.read_text(errors="replace").splitlines())
        if lines > MOST_LINES:
            found.append(f"{file}: {lines} lines; is there a second idea in it?")
    return found


def offences(root: Path) -> list:
    paths = list(code_files(root))
    includes = [include for path in paths for include in includes_of(root, path)]
    found = []
    for include in includes:
        for offence in (layer_offence(include), library_offence(include)):
            if offence:
                found.append(f"{include.file}:{include.line}: {offence}")
    round_trip = circle(includes)
    if round_trip:
        route = ", ".join(f"{one.file}:{one.line} includes {included_file(one)}" for one in round_trip)
        found.append(f"folders include each other in a circle: {route}")
    return found


def main(arguments: list) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = offences(root)
    print("\n".join(found) if found else "layers: every include points down")
    for line in size_advice(root):
        print(f"advice: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
