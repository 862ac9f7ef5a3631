# SPDX-License-Identifier: Apache-2.0
"""Checks the output and the pictures of `tutti history`. Change points are tested in tests/results/change_points_test.cpp."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import synthetic  # noqa: E402
from folder import Folder  # noqa: E402
from optional import module  # noqa: E402

TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
RING = "all_reduce 1M float sum host ring (shm)"


class History(Folder):
    def file(self, times, name="r.jsonl", commits=None, **changes):
        """A session with a launch for each time (ns); `changes` are those of the launch record."""
        lines = []
        for number, time in enumerate(times):
            session = synthetic.session() | {"id": f"{name}{number}", "t": f"2026-01-{number + 1:02}T12:00:00.000Z"}
            session["tool"] = session["tool"] | {"git": commits[number] if commits else "c0ffee"}
            here = {"session": session["id"], "launch": 1, "t": session["t"]}
            launch = synthetic.launch_record(1) | {"topo_sha256": "abcdef0123456789"} | here | changes
            key = synthetic.key("all_reduce", "tutti", "ring", "shm", 1 << 20)
            point = {"v": 1, "kind": "point", "key": key, "mode": "deadline", "n": 9, "t_ns": dict.fromkeys(("p05", "p50", "p95", "max"), time),
                     "ci95_p50_ns": [time, time], "busbw_GBps": 1.0, "check": {"state": "ok"}}
            lines += [session, launch, point | {name: here[name] for name in ("session", "launch")}]
        path = self.folder / name
        path.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines), encoding="utf-8")
        return path

    def database(self, file):
        db = self.folder / "r.sqlite"
        subprocess.run([sys.executable, "-B", ROOT / "scripts/results.py", "import", file, "--db", db], check=True, stdout=subprocess.DEVNULL)
        return db

    def test_a_level_that_no_permutation_can_reach_is_refused(self):
        done = self.run_history("all_reduce", "some.jsonl", "--level", "0.001")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn("--permutations 999", done.stderr)

    def test_a_level_that_is_none_is_refused(self):
        for level in ("0", "1", "-0.1", "1e-320", "nan", "inf"):
            self.refused("all_reduce", self.file([1000]), f"--level={level}", says="level")

    def test_a_record_that_is_none_is_refused_by_its_line(self):
        file = self.file([1000])
        point = json.loads(file.read_text().splitlines()[-1])
        del point["key"]["coll"]
        file.write_text(file.read_text() + json.dumps(point) + "\n")
        self.refused("all_reduce", file, says="coll")
        file.write_text(json.dumps({name: value for name, value in synthetic.session().items() if name != "id"}) + "\n")
        self.refused("all_reduce", file, says="'id'")
        self.refused("all_reduce", "--db", self.database(file), says="'id'")
        file.write_text(json.dumps(synthetic.session()) + "\n")
        self.refused("all_reduce", file, says="no metric")
        (self.folder / "r.sqlite").unlink()
        self.refused("all_reduce", "--db", self.database(file), says="no metric")

    def test_a_record_with_an_impossible_time_is_refused(self):
        self.refused("all_reduce", self.file([1000], t=5), says="'t'")
        self.refused("all_reduce", self.file([10**30]), says="t_ns.")

    def test_what_was_stored_is_not_measured_again_by_comparing_it(self):
        session = synthetic.session() | {"id": "c"}
        pair = {"v": 1, "kind": "pair", "session": "c", "launch": 1, "metric": RING, "est": 0.0, "a_ns": 700, "b_ns": 700, "quads": []}
        verdict = {"v": 1, "kind": "verdict", "session": "c", "metric": RING, "verdict": "same", "ratio": 1.0, "confidence": 0.98,
                   "n_launch": 1, "method": "stored"}
        file = self.folder / "c.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in (session, pair, verdict)))
        for source in ([file], ["--db", self.database(file)]):
            self.refused(RING, *source, says="metric")

    def test_numbers_of_programs_keep_their_unit(self):
        lines = []
        for number, (value, unit) in enumerate([(5e6, None), (12.5, "GB/s"), (12.75, "GB/s"), (3, "")]):
            session = synthetic.session() | {"id": f"c{number}", "t": f"2026-01-{number + 1:02}T12:00:00.000Z"}
            pair = {"v": 1, "kind": "pair", "session": session["id"], "launch": 1, "metric": "rate", "est": 0.0, "a_ns": value, "b_ns": value, "quads": []}
            lines += [session, pair if unit is None else pair | {"unit": unit}]
        file = self.folder / "c.jsonl"
        file.write_text("".join(json.dumps(synthetic.whole(one)) + "\n" for one in lines))
        for source in ([file], ["--db", self.database(file)]):
            newest = self.ok("rate", *source)
            self.assertEqual([line.split()[-1] for line in newest.splitlines() if line.startswith("  2026")], ["3"])
            self.assertIn("other unit", newest)
            machines = [line.split()[1] for line in newest.splitlines() if line.startswith("  --machine")]
            shown = {tuple(line.split()[-2:]) for machine in machines for line in self.ok("rate", *source, "--machine", machine).splitlines()
                     if line.startswith("  2026")}
            self.assertEqual(shown, {("12.5", "GB/s"), ("12.75", "GB/s"), ("5.00", "ms")})

    def test_names_of_older_versions_find_all_ranks(self):
        """Names had no ranks before: asked so, history shows the newest series and lists the others. A name with ranks finds only these.
        Pairs of older comparisons are in the series of the ranks that their verdicts have."""
        lines = []
        for number, (nranks, time) in enumerate([(2, 1000), (4, 3000), (2, 1100), (4, 3100)]):
            session = synthetic.session() | {"id": f"n{number}", "t": f"2026-01-{number + 1:02}T12:00:00.000Z"}
            launch = synthetic.launch_record(1) | {"session": session["id"], "t": session["t"], "nranks": nranks, "ppn": nranks}
            key = synthetic.key("all_reduce", "tutti", "ring", "shm", 1 << 20) | {"nranks": nranks, "ppn": nranks}
            point = {"v": 1, "kind": "point", "session": session["id"], "launch": 1, "key": key, "mode": "deadline", "n": 9,
                     "t_ns": dict.fromkeys(("p05", "p50", "p95", "max"), time), "ci95_p50_ns": [time, time], "busbw_GBps": 1.0,
                     "check": {"state": "ok"}}
            lines += [session, launch, point]
        file = self.folder / "ranks.jsonl"
        file.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines))
        for source in ([file], ["--db", self.database(file)]):
            for words in (RING, "all_reduce ring"):
                found = json.loads(self.ok(words, *source, "--json"))
                self.assertEqual((found["metric"], [one["ns"] for one in found["launches"]]), (f"{RING}, 4 ranks", [3000, 3100]))
                self.assertEqual([one["differs"] for one in found["others"]], [["id", "key.nranks", "key.ppn"]])
            for words in (f"{RING}, 2 ranks", "1M ring 2 ranks"):
                found = json.loads(self.ok(words, *source, "--json"))
                self.assertEqual(([one["ns"] for one in found["launches"]], found["others"]), ([1000, 1100], []))

    def test_pairs_of_older_comparisons_go_on(self):
        lines = []
        for number, (metric, value) in enumerate([(RING, 500), (f"{RING}, 2 ranks", 510), (f"{RING}, 4 ranks", 900)]):
            session = synthetic.session() | {"id": f"c{number}", "t": f"2026-01-{number + 1:02}T12:00:00.000Z"}
            pair = {"v": 1, "kind": "pair", "session": session["id"], "launch": 1, "metric": metric, "est": 0.0, "a_ns": value, "b_ns": value, "quads": []}
            verdict = {"v": 1, "kind": "verdict", "session": session["id"], "metric": metric, "verdict": "same", "ratio": 1.0, "confidence": 0.98,
                       "n_launch": 1, "nranks": 4 if "4 ranks" in metric else 2}
            lines += [session, pair, verdict]
        file = self.folder / "pairs.jsonl"
        file.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines))
        for source in ([file], ["--db", self.database(file)]):
            self.assertEqual([one["ns"] for one in json.loads(self.ok(f"{RING}, 2 ranks", *source, "--json"))["launches"]], [500, 510])
            self.assertEqual([one["ns"] for one in json.loads(self.ok(RING, *source, "--json"))["launches"]], [900])

    def test_comparisons_of_other_places_are_other_series(self):
        lines = []
        for number, nranks in enumerate((2, 8)):
            session = synthetic.session() | {"id": f"p{number}", "t": f"2026-01-{number + 1:02}T12:00:00.000Z"}
            lines += [session, {"v": 1, "kind": "pair", "session": session["id"], "launch": 1, "est": 0.0, "a_ns": 500, "b_ns": 500 + nranks,
                                "metric": f"{RING}, {nranks} ranks -> ring (shm), 4 ranks", "quads": []}]
        file = self.folder / "places.jsonl"
        file.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines))
        found = json.loads(self.ok(f"{RING} -> ring (shm)", file, "--json"))
        self.assertEqual([one["ns"] for one in found["launches"]], [508])
        self.assertEqual([one["differs"] for one in found["others"]], [["place"]])

    def run_history(self, *words, **environment):
        return subprocess.run([TUTTI, "history", *map(str, words)], capture_output=True,
                              text=True, check=False, env=os.environ | environment)

    def ok(self, *words):
        done = self.run_history(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *words, says):
        done = self.run_history(*words)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
        self.assertIn(says, done.stderr)

    def test_names_the_launch_and_the_commit_of_a_change(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495], commits=["a" * 7] * 6 + ["b" * 7] * 6)
        said = self.ok(RING, file)
        self.assertIn("1 change point", said)
        self.assertRegex(said, r"2026-01-07 12:00:00 +bbbbbbb +1\.50 us  <- change")
        self.assertIn("1.00 us -> 1.50 us (+49.9 %)", said)
        self.assertIn("commit aaaaaaa -> bbbbbbb\n", said)
        self.assertIn("information, no verdict", said)

    def test_json_has_all_launches_changes_and_other_machines(self):
        file = self.file([1000] * 6 + [1500] * 6, commits=["a" * 7] * 6 + ["b" * 7] * 6)
        other = self.file([7] * 2, "other.jsonl", topo_sha256="99999999", env={})
        found = json.loads(self.ok(RING, file, other, "--json"))
        self.assertEqual([one["ns"] for one in found["launches"]], [1000.0] * 6 + [1500.0] * 6)
        self.assertEqual(found["levels"], [{"first": 0, "ns": 1000.0}, {"first": 6, "ns": 1500.0}])
        change, = found["changes"]
        self.assertEqual((change["first"], change["before_ns"], change["after_ns"]), (6, 1000.0, 1500.0))
        self.assertEqual(change["facts"], [{"fact": "commit", "before": "a" * 7, "after": "b" * 7}])
        self.assertLessEqual(change["p"], found["level"])
        self.assertEqual([(one["launches"], one["differs"]) for one in found["others"]], [(2, ["machine", "OMPI_MCA_btl"])])
        self.assertEqual(json.loads(self.ok(RING, "--db", self.database(file), "--json"))["launches"], found["launches"])

    def test_quiet_series_have_none(self):
        self.assertIn("0 change points", self.ok(RING, self.file([1000, 1010, 990, 1005, 1001, 999, 1008, 994])))
        self.assertIn("too few launches", self.ok(RING, self.file([1000, 2000])))

    def test_other_machines_and_settings_are_told_apart_and_said(self):
        old = self.file([1000] * 3, "old.jsonl", topo_sha256="99999999")
        other = self.file([1000] * 4, "other.jsonl", env={"UCX_TLS": "tcp"})
        new = self.file([500] * 5, "new.jsonl")
        said = self.ok(RING, old, other, new)
        self.assertIn("2 other fingerprints", said)
        self.assertIn("newest", said)
        self.assertEqual(said.count(" 500 ns"), 5)
        self.assertNotIn("1.00 us", said)
        self.assertRegex(said, r"--machine 99999999-\w+  launches until 2026-01-03: 3; other machine\n")
        self.assertRegex(said, r"--machine abcdef01-\w+  launches until 2026-01-04: 4; other OMPI_MCA_btl, UCX_TLS\n")
        self.assertEqual(self.ok(RING, old, other, new, "--machine", "9999").count(" 1.00 us"), 3)
        self.refused(RING, old, "--machine", "x", says="99999999-")

    def test_one_launch_is_one_value_and_wrong_or_skipped_ones_are_none(self):
        file = self.file([1000] * 6)
        lines = file.read_text(encoding="utf-8").splitlines()
        point = json.loads(lines[-1])
        wrong = point | {"t_ns": point["t_ns"] | {"p50": 1}, "check": {"state": "fail", "n_wrong": 1}}
        skipped = {name: point[name] for name in ("v", "kind", "session", "launch", "key")} | {"skipped": "why"}
        again = point | {"t_ns": point["t_ns"] | {"p50": 3000}}
        file.write_text("\n".join([*lines, *map(json.dumps, (wrong, skipped, again))]) + "\n", encoding="utf-8")
        said = self.ok(RING, file)
        self.assertEqual(said.count(" 1.00 us"), 5)
        self.assertEqual(said.count(" 2.00 us"), 1)

    def test_a_run_that_was_resumed_is_one_launch_of_files_and_of_a_database(self):
        file = self.file([1000] * 3)
        lines = file.read_text(encoding="utf-8").splitlines()
        lines[3] = json.dumps(json.loads(lines[3]) | {"resume_of": "r.jsonl0"})
        lines[5] = lines[5].replace("1000", "3000")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        said = self.ok(RING, file)
        self.assertEqual((said.count("12:00:00"), said.count(" 3.00 us"), said.count(" 1.00 us")), (2, 1, 1))
        self.assertEqual(self.ok(RING, "--db", self.database(file)), said)

    def test_a_database_says_the_same_as_the_files(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495])
        self.assertEqual(self.ok(RING, "--db", self.database(file)), self.ok(RING, file))

    @unittest.skipUnless(module("matplotlib"), "needs python3-matplotlib")
    def test_is_drawn_as_svg_or_png(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495])
        svg, png = self.folder / "h.svg", self.folder / "h.png"
        self.ok(RING, file, "-o", svg)
        text = svg.read_text(encoding="utf-8")
        for said in ("+49.9 %", "1 change point (", "2026-01-01"):
            self.assertIn(said, text)
        self.ok(RING, file, "-o", png)
        self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        self.refused(RING, file, "-o", "/proc/no/h.svg", says="cannot write")

    def test_refuses_in_one_line(self):
        file = self.file([1000])
        self.refused("nothing", file, says="'nothing'")
        self.refused(RING, says="results files or --db")
        self.refused(RING, file, "-o", "h.gif", says="neither .svg nor .png")
        self.refused(RING, "--db", self.folder / "none.sqlite", says="tutti results import")
        both = json.loads(file.read_text().splitlines()[-1])
        both["key"]["algo"] = "ring-of-rings"
        file.write_text(file.read_text() + json.dumps(both) + "\n")
        self.refused("rin", file, says="matches 2")
        self.refused("all_reduce 1M riing", file, says="the nearest: all_reduce 1M")
        self.refused("all_reduce 1M riing", "--db", self.database(file), says="the nearest: all_reduce 1M")

    def test_prefers_the_call_out_of_place(self):
        file = self.file([1000])
        point = json.loads(file.read_text().splitlines()[-1])
        point["key"]["inplace"] = not point["key"]["inplace"]
        file.write_text(file.read_text() + json.dumps(point) + "\n")
        for source in ((file,), ("--db", self.database(file))):
            self.assertNotIn("in place", self.ok("ring all_reduce", *source).splitlines()[0])
        self.assertIn("in place", self.ok("in place", file).splitlines()[0])


if __name__ == "__main__":
    unittest.main()
