# SPDX-License-Identifier: Apache-2.0
"""Checks the output of `tutti check-guidelines` for an invented library. The rules are tested in tests/results/guidelines_test.cpp."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
sys.path.insert(0, str(HERE))

import synthetic  # noqa: E402
from folder import Folder  # noqa: E402

SIZES = tuple(64 << (2 * i) for i in range(6))  # 64 B .. 64 KiB
# Calls and bytes of each collective, in ns: a library that keeps every guideline, some of them just so.
MODEL = {"all_reduce": (4000, 1.65), "reduce_scatter": (2000, 0.9), "all_gather": (2000, 0.75), "broadcast": (2000, 1.0),
         "reduce": (2200, 1.2), "scatter": (1500, 0.75), "gather": (1500, 0.75), "all_to_all": (2500, 0.9)}


def keeping(coll, size):
    latency, per_byte = MODEL[coll]
    return latency + per_byte * size


def points_of(time, colls=tuple(MODEL), sizes=SIZES, half=0.02, **key):
    """Points of the library "mpi": medians time(coll, size), known to +- `half`; `key` are changes of the key."""
    found = []
    for coll in colls:
        for size in sizes:
            p50 = time(coll, size)
            found.append({"v": 1, "kind": "point", "session": "s", "launch": 1, "key": synthetic.key(coll, "mpi", "", "", size) | key,
                          "mode": "deadline", "def": "last_arrival", "n": 100, "t_ns": {name: p50 for name in ("p05", "p50", "p95", "max")},
                          "ci95_p50_ns": [p50 * (1 - half), p50 * (1 + half)], "busbw_GBps": 1.0, "check": {"state": "ok"}})
    return found


class Command(Folder):
    def file(self, points, name="r.jsonl"):
        path = self.folder / name
        lines = [synthetic.session(), synthetic.launch_record(1), *points]
        path.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines), encoding="utf-8")
        return path

    def run_it(self, *words):
        return subprocess.run([TUTTI, "check-guidelines", *map(str, words)], capture_output=True,
                              text=True, check=False)

    def said(self, code, *words):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return done.stdout

    def refused(self, *words, says):
        done = self.run_it(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (64, "", 1), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertTrue(done.stderr.isprintable() or done.stderr[:-1].isprintable(), done.stderr)

    def slow_gather(self):
        return points_of(lambda coll, size: keeping(coll, size) * (2 if coll == "gather" and size == 1024 else 1))

    def test_says_the_worst_first_and_what_would_be_gained(self):
        said = self.said(1, self.file(self.slow_gather()))
        self.assertIn("guidelines: 4 ranks, 4", said)
        lines = said.splitlines()
        first = lines[lines.index("violated") + 2]
        self.assertRegex(first, r"^ +mpi +gather <= all_gather +1K +1\.64 .* 4\.54 us .* 1\.77 us")
        self.assertRegex(said, r"\n\d+ checked: 1 violated, \d+ kept, 0 undecided\n")

    def test_is_content_with_a_library_that_keeps_them(self):
        self.assertRegex(self.said(0, self.file(points_of(keeping))), r"\n\d+ checked: 0 violated, \d+ kept, 0 undecided\n")

    def test_a_line_says_what_could_not_be_checked(self):
        said = self.said(0, self.file(points_of(keeping, ("gather", "all_gather", "broadcast"))))
        line = next(line for line in said.splitlines() if line.startswith("not checked"))
        without_points = ("all_reduce", "all_to_all", "barrier", "reduce", "reduce_scatter", "scan", "scatter")
        self.assertIn(f" {', '.join(without_points)}: all_reduce <= reduce_s", line)
        self.assertIn("; broadcast <= scatter + all_gather; ", line)
        self.assertNotIn("gather <= all_gather", line)
        only = self.said(0, self.file(points_of(keeping, ("gather",)) + points_of(keeping, ("all_gather",), inplace=True)))
        self.assertIn(" inplace: gather <= all_gather\n", only)

    def test_nothing_to_check_has_a_code_of_its_own(self):
        said = self.said(3, self.file(points_of(keeping, ("gather",), (64,))))
        self.assertIn("could be checked\n", said)
        self.assertEqual(json.loads(self.said(3, self.file(points_of(keeping, ("gather",), (64,))), "--format", "json"))["checked"], 0)

    def test_json_has_every_check(self):
        found = json.loads(self.said(1, self.file(self.slow_gather()), "--format=json"))
        self.assertEqual(found["checked"], len(found["checks"]))
        self.assertEqual(found["violated"], sum(one["verdict"] == "violated" for one in found["checks"]))
        worst = found["checks"][0]
        self.assertEqual((worst["guideline"], worst["bytes"], worst["nranks"], worst["start"]),
                         ("gather <= all_gather", 1024, 4, "deadline last_arrival"))
        self.assertAlmostEqual(worst["gain_ns"], worst["takes_ns"] - worst["would_take_ns"], delta=0.1)

    def test_markdown_is_a_table(self):
        said = self.said(1, self.file(self.slow_gather()), "--format", "markdown")
        self.assertRegex(said, r"\n\| mpi \| gather &lt;= all\\_gather \| 1K \| 1\.64 \| 1\.\d\d to 1\.\d\d \| .* \|\n")

    def test_one_library_or_some_of_tutti_may_be_asked_for(self):
        ours = points_of(keeping, impl="tutti", algo="ring", transport="shm")
        file = self.file(self.slow_gather() + ours)
        self.assertIn("  best: ", self.said(1, file))
        self.assertNotIn("best", self.said(1, file, "--library", "mpi"))
        for name in ("best", "ring", "ring (shm)", "ring,best"):
            self.assertNotIn("mpi", self.said(0, file, "--candidates", name).splitlines()[-1])
        self.refused(file, "--library", "nccl", says="'nccl'")
        self.refused(file, "--candidates", "tree", says="ring, ring (shm)")
        self.refused(file, "--candidates", "best", "--library", "mpi", says="--candidates")

    def test_tolerance_is_a_share(self):
        file = self.file(self.slow_gather())
        for text in ("70%", "0.7"):
            self.said(0, file, "--tolerance", text)
        for text in ("5", "-1%", "much", "nan"):
            self.refused(file, f"--tolerance={text}", says=text)

    def test_hostile_files_are_one_line(self):
        good = points_of(keeping)
        for text, says in (("", "is empty"), ("{}\n", "record"), ('{"v":1,"kind":"point"}\n', "launch"), ("no JSON\n", ":1:")):
            path = self.folder / "hostile.jsonl"
            path.write_text(text, encoding="utf-8")
            self.refused(path, says=says)
        self.refused(self.folder / "none.jsonl", says="cannot read")
        for key in ({"bytes": -8}, {"nranks": 0}):
            self.refused(self.file([good[0] | {"key": good[0]["key"] | key}]), says="")

    def test_hostile_names_stay_in_their_line(self):
        name = "a\n| \x1b[31m <b>"
        points = points_of(lambda coll, size: keeping(coll, size) * (3 if coll == "all_reduce" else 1), impl=name)
        for form in ("text", "markdown", "json"):
            said = self.said(1, self.file(points), "--format", form)
            self.assertTrue(all(line.isprintable() for line in said.splitlines()))
            self.assertNotIn(" <b>", said if form == "markdown" else "")

    def test_a_torn_line_is_a_warning(self):
        file = self.file(points_of(keeping))
        file.write_text(file.read_text()[:-30])
        done = self.run_it(file)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1))
        self.assertIn("torn", done.stderr)


if __name__ == "__main__":
    unittest.main()
