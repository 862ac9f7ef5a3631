# SPDX-License-Identifier: Apache-2.0
"""Change points of series whose changes are known, and what `tutti history` says of results files."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

try:
    import numpy
    from tutti import change_points
except ModuleNotFoundError:
    numpy = None
try:
    import matplotlib
except ModuleNotFoundError:
    matplotlib = None

import synthetic  # noqa: E402
from folder import Folder  # noqa: E402

needs_numpy = unittest.skipUnless(numpy, "needs python3-numpy")
RING = "all_reduce 1M float sum host ring (shm)"


@needs_numpy
class ChangePoints(unittest.TestCase):
    def firsts(self, values, **named):
        return [change.first for change in change_points.change_points(values, **named)]

    def test_a_step_of_five_sigma_is_found_where_it_is(self):
        random = numpy.random.default_rng(1)
        exact = 0
        for seed in range(20):
            values = random.normal(size=24)
            values[14:] += 5
            found = self.firsts(values, permutations=199, seed=seed)
            exact += found == [14]
            self.assertTrue(any(abs(first - 14) <= 1 for first in found), (seed, found))
        self.assertGreaterEqual(exact, 18)  # a value of the noise may lie on the other side; 1 of 100 tests is wrong

    def test_of_pure_noise_are_about_as_many_as_the_level_says(self):
        # 200 tests of level 5 %: 10 are expected, and 1 to 21 come with a probability of 99.9 % (binomial).
        random = numpy.random.default_rng(2)
        false = sum(bool(self.firsts(random.normal(size=20), level=0.05, permutations=99, seed=seed)) for seed in range(200))
        self.assertGreaterEqual(false, 1)
        self.assertLessEqual(false, 21)

    def test_there_and_back_again_are_two_changes(self):
        values = numpy.random.default_rng(3).normal(size=36)
        values[12:24] += 6
        self.assertEqual(self.firsts(values), [12, 24])

    def test_a_wider_spread_is_a_change_too(self):
        random = numpy.random.default_rng(4)
        values = numpy.concatenate([random.normal(size=40), 12 * random.normal(size=40)])
        found = self.firsts(values)
        self.assertTrue(any(abs(first - 40) <= 5 for first in found), found)

    def test_none_is_nearer_than_three_values_to_another_or_an_end(self):
        self.assertEqual(self.firsts([0, 0, 0, 9, 9]), [])
        self.assertEqual(self.firsts([0] * 17 + [90] * 2), [])
        self.assertEqual(self.firsts([0] * 17 + [90] * 3), [17])
        self.assertEqual(self.firsts([5.0] * 30), [])

    def test_the_same_seed_gives_the_same(self):
        values = list(numpy.random.default_rng(5).normal(size=12)) + [3, 4, 3, 4]
        once = change_points.change_points(values, level=0.3, seed=7)
        self.assertEqual(once, change_points.change_points(values, level=0.3, seed=7))

    def test_the_best_cut_is_that_of_the_definition(self):
        """Against loops over all cuts, ends and pairs."""
        x = numpy.random.default_rng(6).normal(size=13)
        best = (-numpy.inf, 0)
        for cut in range(3, 11):
            for end in range(cut + 3, 14):
                before, behind = x[:cut], x[cut:end]

                def mean(one, other, pairs):
                    return sum(abs(a - b) for a in one for b in other) / pairs
                n, m = len(before), len(behind)
                energy = (2 * mean(before, behind, n * m) - mean(before, before, n * (n - 1))
                          - mean(behind, behind, m * (m - 1)))
                best = max(best, (energy * n * m / (n + m), cut))
        found = change_points._best_cut(numpy.abs(numpy.subtract.outer(x, x)), (0, 13))
        self.assertAlmostEqual(found[0], best[0])
        self.assertEqual(found[1], best[1])


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
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
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
            self.refused("all_reduce", "some.jsonl", f"--level={level}", says="level")

    def test_a_record_that_is_none_is_refused_by_its_line(self):
        file = self.file([1000])
        point = json.loads(file.read_text().splitlines()[-1])
        del point["key"]["coll"]
        file.write_text(file.read_text() + json.dumps(point) + "\n")
        self.refused("all_reduce", file, says="coll")
        file.write_text(json.dumps({name: value for name, value in synthetic.session().items() if name != "id"}) + "\n")
        self.refused("all_reduce", file, says="no metric")
        self.refused("all_reduce", "--db", self.database(file), says="no metric")

    def test_a_record_with_an_impossible_time_is_refused(self):
        self.refused("all_reduce", self.file([1000], t=5), says="invalid")
        self.refused("all_reduce", self.file([10**400]), says="invalid")

    def test_what_was_stored_is_not_measured_again_by_comparing_it(self):
        session = synthetic.session() | {"id": "c"}
        pair = {"v": 1, "kind": "pair", "session": "c", "launch": 1, "metric": RING, "b_ns": 700}
        verdict = {"v": 1, "kind": "verdict", "session": "c", "metric": RING, "method": "stored"}
        file = self.folder / "c.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in (session, pair, verdict)))
        for source in ([file], ["--db", self.database(file)]):
            self.refused(RING, *source, says="metric")

    def run_history(self, *words, **environment):
        return subprocess.run([sys.executable, "-B", ROOT / "scripts/history.py", *map(str, words)], capture_output=True,
                              text=True, check=False, env=os.environ | environment)

    def ok(self, *words):
        done = self.run_history(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *words, says):
        done = self.run_history(*words)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
        self.assertIn(says, done.stderr)

    @needs_numpy
    def test_names_the_launch_and_the_commit_of_a_change(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495], commits=["a" * 7] * 6 + ["b" * 7] * 6)
        said = self.ok(RING, file)
        self.assertIn("1 change point", said)
        self.assertRegex(said, r"2026-01-07 12:00:00 +bbbbbbb +1\.50 µs  <- change")
        self.assertIn("1.00 µs -> 1.50 µs (+49.9 %)", said)
        self.assertIn("commit aaaaaaa -> bbbbbbb\n", said)
        self.assertIn("information, no verdict", said)

    @needs_numpy
    def test_quiet_series_have_none(self):
        self.assertIn("0 change points", self.ok(RING, self.file([1000, 1010, 990, 1005, 1001, 999, 1008, 994])))
        self.assertIn("too few launches", self.ok(RING, self.file([1000, 2000])))

    @needs_numpy
    def test_other_machines_and_settings_are_told_apart_and_said(self):
        old = self.file([1000] * 3, "old.jsonl", topo_sha256="99999999")
        other = self.file([1000] * 4, "other.jsonl", env={"UCX_TLS": "tcp"})
        new = self.file([500] * 5, "new.jsonl")
        said = self.ok(RING, old, other, new)
        self.assertIn("2 other fingerprints", said)
        self.assertIn("newest", said)
        self.assertEqual(said.count(" 500 ns"), 5)
        self.assertNotIn("1.00 µs", said)
        self.assertRegex(said, r"--machine 99999999-\w+  launches until 2026-01-03: 3; other machine\n")
        self.assertRegex(said, r"--machine abcdef01-\w+  launches until 2026-01-04: 4; other OMPI_MCA_btl, UCX_TLS\n")
        self.assertEqual(self.ok(RING, old, other, new, "--machine", "9999").count(" 1.00 µs"), 3)
        self.refused(RING, old, "--machine", "x", says="99999999-")

    @needs_numpy
    def test_one_launch_is_one_value_and_wrong_or_skipped_ones_are_none(self):
        file = self.file([1000] * 6)
        lines = file.read_text(encoding="utf-8").splitlines()
        point = json.loads(lines[-1])
        wrong = point | {"t_ns": point["t_ns"] | {"p50": 1}, "check": {"state": "fail"}}
        skipped = {name: point[name] for name in ("v", "kind", "session", "launch", "key")} | {"skipped": "why"}
        again = point | {"t_ns": point["t_ns"] | {"p50": 3000}}
        file.write_text("\n".join([*lines, *map(json.dumps, (wrong, skipped, again))]) + "\n", encoding="utf-8")
        said = self.ok(RING, file)
        self.assertEqual(said.count(" 1.00 µs"), 5)
        self.assertEqual(said.count(" 2.00 µs"), 1)

    @needs_numpy
    def test_a_run_that_was_resumed_is_one_launch_of_files_and_of_a_database(self):
        file = self.file([1000] * 3)
        lines = file.read_text(encoding="utf-8").splitlines()
        lines[3] = json.dumps(json.loads(lines[3]) | {"resume_of": "r.jsonl0"})
        lines[5] = lines[5].replace("1000", "3000")
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        said = self.ok(RING, file)
        self.assertEqual((said.count("12:00:00"), said.count(" 3.00 µs"), said.count(" 1.00 µs")), (2, 1, 1))
        self.assertEqual(self.ok(RING, "--db", self.database(file)), said)

    @needs_numpy
    def test_a_database_says_the_same_as_the_files(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495])
        self.assertEqual(self.ok(RING, "--db", self.database(file)), self.ok(RING, file))

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_is_drawn_as_svg_or_png(self):
        file = self.file([1000, 1010, 990, 1005, 1003, 995, 1500, 1510, 1490, 1505, 1503, 1495])
        svg, png = self.folder / "h.svg", self.folder / "h.png"
        self.ok(RING, file, "-o", svg)
        text = svg.read_text(encoding="utf-8")
        for said in ("+49.9 %", "1 change point (", "2026-01-01"):
            self.assertIn(said, text)
        self.ok(RING, file, "-o", png)
        self.assertEqual(png.read_bytes()[:4], b"\x89PNG")
        self.refused(RING, file, "-o", "/proc/no/h.svg", says="cannot")

    def test_refuses_in_one_line(self):
        file = self.file([1000])
        self.refused("nothing", file, says="'nothing'")
        self.refused(RING, says="results files or --db")
        self.refused(RING, file, "-o", "h.gif", says="neither .svg nor .png")
        self.refused(RING, "--db", self.folder / "none.sqlite", says="tutti results import")
        both = json.loads(file.read_text().splitlines()[-1])
        both["key"]["algo"] = "ring-of-rings"
        file.write_text(file.read_text() + json.dumps(both) + "\n")
        self.refused("rin", file, says="fits 2")
        self.refused("all_reduce 1M riing", file, says="the nearest: all_reduce 1M")
        self.refused("all_reduce 1M riing", "--db", self.database(file), says="the nearest: all_reduce 1M")

    @needs_numpy
    def test_prefers_the_call_out_of_place(self):
        file = self.file([1000])
        point = json.loads(file.read_text().splitlines()[-1])
        point["key"]["inplace"] = not point["key"]["inplace"]
        file.write_text(file.read_text() + json.dumps(point) + "\n")
        for source in ((file,), ("--db", self.database(file))):
            self.assertNotIn("in place", self.ok("ring all_reduce", *source).splitlines()[0])
        self.assertIn("in place", self.ok("in place", file).splitlines()[0])

    @needs_numpy
    def test_prints_ascii_where_the_stream_takes_nothing_else(self):
        done = self.run_history(RING, self.file([12_000]), PYTHONIOENCODING="ascii")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("12.0 us", done.stdout)


if __name__ == "__main__":
    unittest.main()
