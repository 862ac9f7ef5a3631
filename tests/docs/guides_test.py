#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the guides of docs/developers/guide.md: puts their code into a copy of the tree, builds it once and runs their commands.

A comment before a block of code says where it goes:
    <!-- put: FILE -->                  a new file
    <!-- put: FILE, after: LINE -->     below the line of this text (or before it, or replace)
Blocks after <!-- check: guide --> are run, and what they print is compared, as by scripts/check_docs.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import check_docs
from check_docs_test import commands

PAGE = check_docs.ROOT / "docs/developers/guide.md"
MOST_FILES = {"algorithm": 2, "transport": 3, "knob": 2, "workload": 2, "collective": 5}
PUT = re.compile(r"^<!-- put: ([^,\s]+)(?:, (after|before|replace): ([^\n]+))? -->\n```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER = Path(os.environ["TUTTI_GUIDES"]) if "TUTTI_GUIDES" in os.environ else None  # kept, so that the next run builds little


def guides():
    """{kind: text of its section}."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = (re.match(r"Adding an? (\w+)\n", section) for section in sections)
    return {match[1]: section for match, section in zip(found, sections) if match}


def with_block(text, how, line, block):
    """The text of a file with the block in its place."""
    lines = text.splitlines(keepends=True)
    places = [number for number, one in enumerate(lines) if one.strip() == line]
    if len(places) != 1:
        raise ValueError(f"{len(places)} lines are '{line}'")
    at, = places
    begin, end = {"after": (at + 1, at + 1), "before": (at, at), "replace": (at, at + 1)}[how]
    return "".join([*lines[:begin], block, *lines[end:]])


def changed_files(texts, read):
    """{file: its text} after the code of the guides; `read(file)` returns that before."""
    files = {}
    for text in texts:
        for file, how, line, block in PUT.findall(text):
            files[file] = with_block(files.get(file) or read(file), how, line, block) if how else block
    return files


def read_tracked(file):
    return (check_docs.ROOT / file).read_text(encoding="utf-8")


class Guides(unittest.TestCase):
    def test_there_is_one_for_each_kind_of_part(self):
        self.assertEqual(set(guides()), set(MOST_FILES))

    def test_touch_as_many_files_and_lines_as_they_say(self):
        said = dict(re.findall(r"^\| \[(\w+)\]\(#adding.*?\) \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
        for kind, text in guides().items():
            blocks = PUT.findall(text)
            files, lines = {block[0] for block in blocks}, sum(block[3].count("\n") for block in blocks)
            with self.subTest(kind):
                self.assertLessEqual(len(files), MOST_FILES[kind])
                self.assertEqual(said[kind], f"{len(files)} files, {lines} lines")

    def test_all_their_code_has_a_place(self):
        for kind, text in guides().items():
            with self.subTest(kind):
                self.assertEqual(text.count("```cpp\n"), len(PUT.findall(text)))
        changed_files(guides().values(), read_tracked)

    def test_a_line_that_is_not_there_is_an_error(self):
        self.assertEqual(with_block("a\n  b\nc\n", "after", "b", "x\n"), "a\n  b\nx\nc\n")
        self.assertEqual(with_block("a\nb\n", "before", "b", "x\n"), "a\nx\nb\n")
        self.assertEqual(with_block("a\nb\n", "replace", "a", "x\n"), "x\nb\n")
        for text in ("a\n", "b\nb\n"):
            with self.assertRaises(ValueError):
                with_block(text, "after", "b", "x\n")


def copy_of_the_tree(folder):
    """Updates the copy; files that are as before keep their time, so that little is built again."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=check_docs.ROOT, capture_output=True, text=True,
                            check=True).stdout.splitlines()
    texts = {name: (check_docs.ROOT / name).read_bytes() for name in listed
             if (check_docs.ROOT / name).is_file()}
    texts |= {name: text.encode() for name, text in changed_files(guides().values(), read_tracked).items()}
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
            shutil.copymode(check_docs.ROOT / name, path) if (check_docs.ROOT / name).exists() else None
    for path in folder.rglob("*.cpp"):
        name = path.relative_to(folder)
        if name.as_posix() not in texts and name.parts[0] != "build":
            path.unlink()


@unittest.skipUnless(FOLDER, "TUTTI_GUIDES is not set to a folder to build in")
class TheirCode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        copy_of_the_tree(FOLDER)
        cls.environment = os.environ | {"PATH": f"{FOLDER / 'build'}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        cmake = os.environ.get("TUTTI_CMAKE", "cmake")
        for words in (["-S", FOLDER, "-B", FOLDER / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0",
                       "-DTUTTI_UNITY=ON", "-DTUTTI_WERROR=ON", "-DTUTTI_CUDA=OFF", "-DTUTTI_TESTS=OFF", "-DTUTTI_BENCHMARKS=OFF"],
                      ["--build", FOLDER / "build", "--target", "tutti"]):
            done = subprocess.run([cmake, *map(str, words)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise AssertionError(done.stdout[-8000:] + done.stderr)

    def run_it(self, script):
        done = subprocess.run(["bash", "-c", f"set -eo pipefail\n{script}"], cwd=FOLDER, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def follow(self, kind):
        printed, ran = "", 0
        for block in commands.blocks_of(guides()[kind]):
            if block.language == "sh" and "guide" in block.labels:
                printed, ran = self.run_it(block.text), ran + 1
            elif block.language == "text":
                self.assertIsNone(commands.first_difference(block.text, printed), printed)
        self.assertGreater(ran, 0)
        return printed

    def test_of_an_algorithm(self):
        self.follow("algorithm")
        for ranks in (2, 6):
            self.assertIn("proof      delivers", self.run_it(f"tutti show neighbour-exchange --ranks {ranks}"))

    def test_of_a_transport(self):
        self.assertIn(" queues ", self.follow("transport"))

    def test_of_a_workload(self):
        self.follow("workload")
        self.run_it("! tutti workload accumulate --ranks 2 --passes 0")

    def test_of_a_collective(self):
        self.follow("collective")

    def test_of_a_knob(self):
        self.follow("knob")
        sys.path[:0] = [str(FOLDER / "python"), str(FOLDER / "scripts")]
        from plots.candidates import Candidate
        self.assertEqual(Candidate("tutti", "chain", "shm", knobs=(0, 0, 1, 0, 0, 4)).label, "chain · shm (4 lanes)")
        self.assertIn(" chain[l4] ", self.run_it("tutti show lanes.jsonl"))

    def test_a_knob_with_invalid_values_does_not_compile(self):
        header = read_tracked("base/configuration.hpp")
        for searched, good in (("1,2", True), ("2,1", False), ("1,2,", False), ("0,2", False), ("1,65", False)):
            file = FOLDER / "invalid.cpp"
            file.write_text(header.replace("#pragma once", "").replace('.searched = "1,2"', f'.searched = "{searched}"'), encoding="utf-8")
            done = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-I", FOLDER, file], capture_output=True, text=True,
                                  check=False)
            file.unlink()
            self.assertEqual(done.returncode == 0, good, done.stderr)
            self.assertEqual(".searched must be ascending" in done.stderr, not good)


if __name__ == "__main__":
    unittest.main(verbosity=2)
