# SPDX-License-Identifier: Apache-2.0
"""tutti compare with results files: a stored baseline, fingerprints, floors."""
import copy
import json
import unittest
import xml.etree.ElementTree

import tutti

OK, FAILED, WRONG, NOT_COMPARABLE, USAGE = 0, 1, 2, 3, 64
BENCH = ("bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none", "--counts", "16,262144",
         "--inplace", "no", *tutti.QUICK)
SMALL, LARGE = "all_reduce 64 float sum registered ring (shm)", "all_reduce 1M float sum registered ring (shm)"
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


class Baselines(Stored):
    def test_a_change_beyond_the_launches_own_spread_is_found(self):
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", [ns * 11 // 10 for ns in AROUND_1000])
        done = self.compare(old, new)
        self.assertEqual(done.returncode, FAILED, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"  {SMALL.replace('(', '.').replace(')', '.')} +1 +1.1 +.10.0 % .* slower\n")
        self.assertRegex(done.stdout, r"1M .* same\n")
        self.assertIn("# stored: A and B were measured at different times, which is weaker", done.stdout)
        self.assertRegex(done.stdout, r"# A: \S+/a.jsonl: 7 launches of tutti ")
        self.assertEqual(self.compare(new, old).returncode, OK)
        self.assertIn(" faster\n", self.compare(new, old).stdout)

    def test_a_change_within_it_is_not(self):
        wide = [1000, 1200, 900, 1150, 950, 1100, 1050]
        done = self.compare(self.stored("a.jsonl", wide), self.stored("b.jsonl", [ns + 60 for ns in wide]),
                            "--fail-on", "slower,undecided", "--explain", "all_reduce 64")
        self.assertEqual(done.returncode, NOT_COMPARABLE, done.stdout + done.stderr)
        self.assertIn("1 same, 1 undecided", done.stdout)
        self.assertRegex(done.stdout, r"#        2 +1.2 +1.26\n")

    def test_one_launch_of_each_decides_nothing(self):
        done = self.compare(self.stored("a.jsonl", [1000]), self.stored("b.jsonl", [9000]))
        self.assertEqual(done.returncode, NOT_COMPARABLE, done.stdout)
        self.assertIn("1 of A and 1 of B are too few for a verdict; 5 launches of each are enough",
                      tutti.said(done.stderr)[0])  # of two metrics
        self.assertIn("2 metrics: 2 undecided", done.stdout)

    def test_fingerprints_that_differ_are_refused_field_by_field(self):
        def other(record):
            if record["kind"] == "launch":
                record["hosts"][0]["cpu_model"] = "Abacus"
                record["env"] = record.get("env", {}) | {"UCX_TLS": "shm"}
            if record["kind"] == "session":
                record["tool"] |= {"version": "9.9", "git": "0123456789ab"}  # of course
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, other)
        done = self.compare(old, new)
        self.assertEqual(done.returncode, NOT_COMPARABLE, done.stdout)
        ucx, model, last = tutti.said(done.stderr)
        self.assertEqual(ucx, "tutti: differs: UCX_TLS: A has -, B has shm")
        self.assertRegex(model, "^tutti: differs: cpu_model: A has .+, B has Abacus$")
        self.assertIn("--ignore-fingerprint FIELD", last)
        self.assertEqual(self.compare(old, new, "--ignore-fingerprint", "UCX_TLS").returncode, NOT_COMPARABLE)
        done = self.compare(old, new, "--ignore-fingerprint", "UCX_TLS", "--ignore-fingerprint", "cpu_model")
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        self.assertIn("# although it differs: UCX_TLS: A has -, B has shm\n", done.stdout)

    def test_wrong_results_come_first(self):
        def wrong(record):
            if record["kind"] == "point" and record["session"].endswith("-3"):
                record["check"] = {"state": "fail", "n_wrong": 2}
        good, bad = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, wrong)
        done = self.compare(good, bad)
        self.assertEqual(done.returncode, WRONG)
        self.assertIn(f"# WRONG: B: 2 wrong elements in {SMALL}", done.stdout)
        self.assertEqual(self.compare(bad, good).returncode, WRONG)

    def test_what_one_side_lacks_is_named(self):
        def renamed(record):
            if record["kind"] == "point" and record["key"]["bytes"] == 64:
                record["key"] |= {"bytes": 128, "count": 32}
        done = self.compare(self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000, renamed))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn(f"# not compared: {SMALL}: only A has it\n", done.stdout)
        self.assertIn("all_reduce 128 float sum registered ring (shm): only B has it\n", done.stdout)

    def test_records_and_views_say_that_it_was_stored(self):
        file, junit = self.folder / "r.jsonl", self.folder / "junit.xml"
        done = self.compare(self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", [ns * 2 for ns in AROUND_1000]),
                            "--json", file, "--write", f"junit={junit}")
        verdicts = [record for record in tutti.records(file) if record["kind"] == "verdict"]
        self.assertEqual({record["method"] for record in verdicts}, {"stored"})
        self.assertIn("against a stored baseline, which is weaker", junit.read_text(encoding="utf-8"))
        again = self.compare("--from", file, "--explain", "all_reduce 64")
        self.assertEqual(again.returncode, FAILED)
        table = done.stdout[done.stdout.index("# metric"):]
        self.assertTrue(again.stdout.startswith(table), again.stdout + table)
        self.assertIn("# " + SMALL + ": slower, because", again.stdout)

    def test_what_cannot_be_done_says_what_to_type(self):
        old = self.stored("a.jsonl", [1000])
        for words, says in (((old,), "against what?"), ((old, "no.jsonl"), "cannot read 'no.jsonl'"),
                            ((old, self.file("e.jsonl", "")), "is empty"),
                            (("--baseline", old), "type what B measures behind two dashes"),
                            ((old, self.file("s.jsonl", json.dumps(self.launch[0]) + "\n")), "nothing that was measured"),
                            ((old, old, "--at-least", "all_reduce 2M busbw 1"), "there is: " + SMALL),
                            ((old, old, "--at-most", "all_reduce 64 p50"), "says too little"),
                            (("--baseline", old, "--env-a", "X=1", "--", *BENCH), "leave --words-a and --env-a out"),
                            (("--launches", 3, "--", *BENCH), "are for a stored baseline"),
                            ((old, old, "--fail-on", ""), "--fail-on names no verdict; type slower"),
                            ((old, old, "--baseline", ""), "nothing stands behind --baseline"),
                            (("--from", ""), "nothing stands behind --from"),
                            ((old, old, "--threads"), "--threads has no part in a comparison of results files"),
                            ((old, old, "--quads", 8), "--quads has no part in a comparison of results files"),
                            ((old, old, "--program-b", "true"), "type --program-a and --program-b, too"),
                            (("--program-a", "true", "--program-b", "true", "--metric", "(x)", "--baseline", old),
                             "--baseline has no part in a comparison of programs"),
                            (("--program-a", "true", "--program-b", "true", "--metric", "(x)", "--words-b", "x"),
                             "--words-b has no part in a comparison of programs"),
                            (("--threads", "--launcher", "mpirun -n 2", "--", *BENCH), "leave one of them out"),
                            (("--threads", "--", *BENCH, "--csv=x.csv"), "leave --csv=x.csv out, and put --json before"),
                            (("--threads", "--words-a", "-Jx.jsonl", "--", *BENCH), "leave -Jx.jsonl out"),
                            (("--baseline", old, "--", *BENCH, "--json", "x"), "put --json before the two dashes"),
                            (("--aa", 3, "--at-most", "all_reduce 8 p50 1us", "--", *BENCH), "leave B, floors,"),
                            (("--program-a", "true", "--program-b", "true", "--metric", "(x)", "--at-most",
                              "all_reduce 8 p50 1us"), "not for programs")):
            with self.subTest(words):
                done = self.compare(*words)
                self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
                self.assertIn(says, tutti.said(done.stderr)[-1])


class Floors(Stored):
    # Two ranks: busbw is algbw; 1 MiB in 100 us.
    def test_a_floor_that_is_missed_fails(self):
        file, records = self.stored("b.jsonl", [3000, 2000, 4000]), self.folder / "r.jsonl"
        done = self.compare(file, "--at-least", "all_reduce 1M busbw 10.4", "--at-most", "all_reduce 64 ring p50 3us")
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        self.assertIn("# met: all_reduce 64 ring p50 at most 3 us: 3 us by " + SMALL, done.stdout)
        done = self.compare(file, "--at-least", "all_reduce 1M busbw 10.5", "--json", records)
        self.assertEqual(done.returncode, FAILED, done.stdout)
        self.assertIn("# MISSED: all_reduce 1M busbw at least 10.5 GB/s: 10.49 GB/s by " + LARGE, done.stdout)
        floor, = (record for record in tutti.records(records) if record["kind"] == "floor")
        self.assertEqual((floor["met"], floor["bound"], floor["unit"]), (False, 10.5, "GB/s"))
        junit = self.folder / "j.xml"
        again = self.compare("--from", records, "--write", f"junit={junit}")
        self.assertEqual(again.returncode, FAILED)
        case, = xml.etree.ElementTree.parse(junit).getroot().findall("testsuite/testcase")
        self.assertEqual(case[0].tag, "failure")

    def test_floors_are_held_against_b_of_any_comparison(self):
        old, new = self.stored("a.jsonl", AROUND_1000), self.stored("b.jsonl", AROUND_1000)
        self.assertEqual(self.compare(old, new, "--at-most", "all_reduce 64 p50 1us").returncode, OK)
        self.assertEqual(self.compare(old, new, "--at-most", "all_reduce 64 p50 0.9us").returncode, FAILED)
        file = self.folder / "turns.jsonl"
        done = self.compare("--threads", "--quads", 2, "--budget", "2s", "--fail-on", "none", "--json", file, "--at-most",
                            "all_reduce 64 p50 0.001us", "--", *BENCH[:8], "--counts", 16, "--inplace", "no", "--sync",
                            "barrier")
        self.assertEqual(done.returncode, FAILED, done.stdout + done.stderr)
        self.assertIn("# MISSED: all_reduce 64 p50 at most 0.001 us", done.stdout)
        self.assertIn(self.compare("--from", file, "--fail-on", "none", "--at-most", "all_reduce 64 p50 9s").returncode,
                      (OK, NOT_COMPARABLE))  # there may be too few launches


class Measured(Stored):
    def test_b_is_measured_now_and_kept(self):
        old, new = self.folder / "old.jsonl", self.folder / "new.jsonl"
        for _ in range(6):
            self.assertEqual(tutti.run(*BENCH, "--ranks", 2, "--json", old).returncode, OK)
        words = ("--baseline", old, "--threads", "--budget", "100s", "--fail-on", "none", "--launches")
        done = self.compare(*words, 6, "--json", new, "--", *BENCH)
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        self.assertIn("# 6 launches of B in", done.stdout)
        self.assertIn("# 2 metrics: ", done.stdout)
        kinds = [record["kind"] for record in tutti.records(new)]
        self.assertEqual((kinds.count("point"), kinds.count("verdict")), (12, 3))  # two and their mean
        # What the file held before is not B's, nor is a line of it that was torn.
        with open(new, "a", encoding="utf-8") as file:
            file.write('{"v":1,"kind":"po')
        done = self.compare(*words, 1, "--json", new, "--", *BENCH)
        self.assertIn("# B: 1 launch of tutti", done.stdout, done.stderr)
        done = self.compare(*words, 1, "--", *BENCH[:-1], "row")
        self.assertEqual(done.returncode, NOT_COMPARABLE, done.stdout)
        self.assertEqual(tutti.said(done.stderr)[0], "tutti: differs: sync: A has barrier, B has row")

    def test_what_b_does_wrong_is_passed_on(self):
        old = self.stored("a.jsonl", AROUND_1000)
        words = ("--baseline", old, "--threads", "--launches", 1, "--ignore-fingerprint", "sync", "--")
        done = self.compare(*words, *BENCH, "--no-such-option")
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn("B ended with 64: ", tutti.said(done.stderr)[0])
        bench = [word if word != "shm" else "loopback" for word in BENCH]
        done = self.compare(*words, *bench, "--fault", "corrupt")
        self.assertEqual(done.returncode, WRONG, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"# WRONG: B: \d+ wrong elements in all_reduce 64 ")


if __name__ == "__main__":
    unittest.main()
