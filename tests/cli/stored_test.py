# SPDX-License-Identifier: Apache-2.0
"""tutti compare with results files: a stored baseline, fingerprints, limits that B must reach (--at-least, --at-most)."""
import copy
import json
import re
import unittest
import xml.etree.ElementTree

import tutti
from tutti import of_kind

OK, FAILED, WRONG, NOT_COMPARABLE, USAGE = 0, 1, 2, 3, 64
BENCH = ("bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none", "--counts", "16,262144",
         "--inplace", "no", *tutti.QUICK)
SMALL, LARGE = "all_reduce 64 float sum registered ring (shm), 2 ranks", "all_reduce 1M float sum registered ring (shm), 2 ranks"
AROUND_1000 = [1000, 1004, 996, 1008, 992, 1002, 998]


class Stored(tutti.Folder):
    @classmethod
    def setUpClass(cls):
        folder = tutti.tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        file = f"{folder.name}/one.jsonl"
        done = tutti.run(*BENCH, "--ranks", 2, "--json", file)
        assert done.returncode == OK, done.stderr
        cls.launch = [record for record in tutti.records(file) if record["kind"] in ("session", "launch", "point")]

    def stored(self, name, medians, change=lambda record: None):
        """A results file with a launch for each median (in ns) of the small call; the large one takes 100 us."""
        lines = []
        for i, median in enumerate(medians):
            for record in copy.deepcopy(self.launch):
                record["id" if record["kind"] == "session" else "session"] = f"{name}-{i}"
                if record["kind"] == "point":
                    record["t_ns"]["p50"] = median if record["key"]["bytes"] == 64 else 100_000 + i
                change(record)
                lines.append(json.dumps(record) + "\n")
        return self.file(name, "".join(lines))

    def compare(self, *words):
        return tutti.run("compare", *words, timeout=200)

    def expect(self, code, *words):
        done = self.compare(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done


class Baselines(Stored):
    def test_a_change_beyond_the_spread_of_launches_is_found(self):
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", [ns * 11 // 10 for ns in AROUND_1000])
        done = self.expect(FAILED, old, new)
        self.assertRegex(done.stdout, rf"  {re.escape(SMALL)} +1 +1.1 +.10.0 % .* slower\n")
        self.assertRegex(done.stdout, r"1M .* same\n")
        self.assertRegex(done.stdout, r"# A: \S+/a.jsonl: 7 launches ")
        self.assertIn(" faster\n", self.expect(OK, new, old).stdout)

    def test_a_change_within_it_is_not(self):
        wide = [1000, 1200, 900, 1150, 950, 1100, 1050]
        done = self.expect(NOT_COMPARABLE, self.stored("a.jsonl", wide), self.stored("b.jsonl", [ns + 60 for ns in wide]),
                           "--fail-on", "slower,undecided", "--explain", "all_reduce 64")
        self.assertIn("1 same, 1 undecided", done.stdout)
        self.assertRegex(done.stdout, r"#        2 +1.2 +1.26\n")

    def test_one_launch_of_each_decides_nothing(self):
        done = self.expect(NOT_COMPARABLE, self.stored("a.jsonl", [1000]), self.stored("b.jsonl", [9000]))
        self.assertIn("5 launches", tutti.said(done.stderr)[0])
        self.assertIn("2 metrics: 2 undecided", done.stdout)

    def test_fingerprints_that_differ_are_refused_field_by_field(self):
        def other(record):
            if record["kind"] == "launch":
                record["hosts"][0]["cpu_model"] = "Abacus"
                record["env"] = record.get("env", {}) | {"UCX_TLS": "shm"}
            if record["kind"] == "session":
                record["tool"] |= {"version": "9.9", "git": "0123456789ab"}  # the versions may differ
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, other)
        ucx, model, last = tutti.said(self.expect(NOT_COMPARABLE, old, new).stderr)
        self.assertIn("UCX_TLS: A has -, B has shm", ucx)
        self.assertRegex(model, "cpu_model: A has .+, B has Abacus$")
        self.assertIn("--ignore-fingerprint", last)
        self.expect(NOT_COMPARABLE, old, new, "--ignore-fingerprint", "UCX_TLS")
        done = self.expect(OK, old, new, "--ignore-fingerprint", "UCX_TLS", "--ignore-fingerprint", "cpu_model")
        self.assertIn(": UCX_TLS: A has -, B has shm\n", done.stdout)

    def test_wrong_results_come_first(self):
        def wrong(record):
            if record["kind"] == "point" and record["session"].endswith("-3"):
                record["check"] = {"state": "fail", "n_wrong": 2}
        good, bad = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, wrong)
        self.assertRegex(self.expect(WRONG, good, bad).stdout, f"# WRONG: B: 2 .*{re.escape(SMALL)}")
        self.expect(WRONG, bad, good)

    def test_a_call_of_one_side_is_named(self):
        def renamed(record):
            if record["kind"] == "point" and record["key"]["bytes"] == 64:
                record["key"] |= {"bytes": 128, "count": 32}
        done = self.expect(OK, self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, renamed))
        for metric, side in ((SMALL, "A"), (SMALL.replace("64", "128"), "B")):
            self.assertIn(f"# not compared: {metric}: only {side}", done.stdout)

    def test_records_and_views_are_marked_as_stored(self):
        junit = self.folder / "junit.xml"
        done = self.compare(self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", [ns * 2 for ns in AROUND_1000]),
                            "--json", self.results, "--write", f"junit={junit}")
        self.assertEqual({record["method"] for record in of_kind(self.results, "verdict")}, {"stored"})
        self.assertIn("stored baseline", junit.read_text(encoding="utf-8"))
        again = self.expect(FAILED, "--from", self.results, "--explain", "all_reduce 64")
        table = done.stdout[done.stdout.index("# metric"):]
        self.assertTrue(again.stdout.startswith(table), again.stdout + table)
        self.assertIn("# " + SMALL + ": slower, because", again.stdout)


class Bounds(Stored):
    # With two ranks busbw is algbw: 1 MiB in 100 us.
    def test_that_are_missed_fail(self):
        file = self.stored("b.jsonl", [3000, 2000, 4000])
        done = self.expect(OK, file, "--at-least", "all_reduce 1M busbw 10.4", "--at-most", "all_reduce 64 ring p50 3us")
        self.assertIn("# met: all_reduce 64 ring p50", done.stdout)
        done = self.expect(FAILED, file, "--at-least", "all_reduce 1M busbw 10.5", "--json", self.results)
        self.assertRegex(done.stdout, "# MISSED: all_reduce 1M busbw .*10.49 GB/s.*" + re.escape(LARGE))
        floor, = of_kind(self.results, "floor")
        self.assertEqual((floor["met"], floor["bound"], floor["unit"]), (False, 10.5, "GB/s"))
        junit = self.folder / "j.xml"
        self.expect(FAILED, "--from", self.results, "--write", f"junit={junit}")
        case, = xml.etree.ElementTree.parse(junit).getroot().findall("testsuite/testcase")
        self.assertEqual(case[0].tag, "failure")

    def test_apply_to_b_of_any_comparison(self):
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000)
        self.expect(OK, old, new, "--at-most", "all_reduce 64 p50 1us")
        self.expect(FAILED, old, new, "--at-most", "all_reduce 64 p50 0.9us")
        done = self.expect(FAILED, "--threads", "--quads", 2, "--budget", "2s", "--fail-on", "none", "--json", self.results, "--at-most",
                           "all_reduce 64 p50 0.001us", "--", *BENCH[:8], "--counts", 16, "--inplace", "no", "--sync", "barrier")
        self.assertIn("# MISSED: all_reduce 64 p50", done.stdout)
        self.assertIn(self.compare("--from", self.results, "--fail-on", "none", "--at-most", "all_reduce 64 p50 9s").returncode,
                      (OK, NOT_COMPARABLE))  # there may be too few launches


class Measured(Stored):
    def test_b_is_measured_now_and_kept(self):
        old, new = self.folder / "old.jsonl", self.folder / "new.jsonl"
        for _ in range(6):
            self.assertEqual(tutti.run(*BENCH, "--ranks", 2, "--json", old).returncode, OK)
        words = ("--baseline", old, "--threads", "--budget", "100s", "--fail-on", "none", "--launches")
        done = self.expect(OK, *words, 6, "--json", new, "--", *BENCH)
        self.assertIn("# 6 launches of B in", done.stdout)
        self.assertIn("# 2 metrics: ", done.stdout)
        self.assertEqual((len(of_kind(new, "point")), len(of_kind(new, "verdict"))), (12, 3))  # two and their mean
        # Earlier records of the file are not of B, nor is a torn line of it.
        with open(new, "a", encoding="utf-8") as file:
            file.write('{"v":1,"kind":"po')
        done = self.compare(*words, 1, "--json", new, "--", *BENCH)
        self.assertIn("# B: 1 launch ", done.stdout, done.stderr)
        done = self.expect(NOT_COMPARABLE, *words, 1, "--", *BENCH[:-1], "row")
        self.assertRegex(tutti.said(done.stderr)[0], "sync: A .* barrier, B .* row")

    def test_failures_of_b_are_passed_on(self):
        words = ("--baseline", self.stored("a.jsonl", AROUND_1000), "--threads", "--launches", 1, "--ignore-fingerprint", "sync", "--")
        done = self.expect(USAGE, *words, *BENCH, "--no-such-option")
        self.assertIn("--no-such-option", tutti.said(done.stderr)[0])
        done = self.expect(WRONG, *words, *(word if word != "shm" else "loopback" for word in BENCH), "--fault", "corrupt")
        self.assertIn("# WRONG: B: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
