# SPDX-License-Identifier: Apache-2.0
"""`tutti results` and `tutti history` find results by the names that `tutti compare` prints; `tutti check-guidelines`."""
import codecs
import csv
import json
import unittest
from pathlib import Path

import tutti
from tutti import QUICK

USAGE = 64
# Calls that are measured twice: by bench, and by compare.
CALLS = ("all_reduce", "--transport", "shm", "--algo", "ring,tree", "--radix", "auto,4", "--channels", "1,2",
         "--baseline", "none", "--counts", "2,1024", "--inplace", "both")


class Database(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.db = self.folder / "results.sqlite"

    def measure(self, file, *words):
        self.ok("bench", *words, *QUICK, "--json", file)


class Results(Database):
    def test_keep_find_and_export_what_was_measured(self):
        file, out = self.folder / "r.jsonl", self.folder / "r.csv"
        self.measure(file, "all_reduce", "--ranks", 2, "--transport", "shm", "--algo", "ring", "--baseline", "none", "--counts", "1024")
        self.assertIn(" new\n", self.ok("results", "import", file, "--db", self.db))
        self.assertTrue(self.ok("results", "import", file, "--db", self.db, file).endswith(" 0 new\n"))
        listed = self.ok("results", "list", "--db", self.db)
        session = tutti.records(file)[0]["id"]
        self.assertIn(session, listed)
        self.assertIn(session, self.ok("results", "show", session[:20], "--db", self.db))
        self.assertIn("all_reduce 4K float sum registered ring (shm), 2 ranks", self.ok("results", "query", "bytes = 4K", "--db", self.db))
        self.ok("results", "export", "--csv", out, "--db", self.db)
        self.assertEqual(len(out.read_text().splitlines()), 1 + len(tutti.points(file)))
        self.assertEqual(self.ok("results", "export", "--csv", "-", "--db", self.db), out.read_text())
        for words in (("all_reduce 4K float sum registered ring (shm)", "--db", self.db), ("4K float sum registered ring", file)):
            self.assertIn("all_reduce 4K", self.ok("history", *words))

    def test_are_read_after_a_byte_order_mark(self):
        plain = self.folder / "plain.jsonl"
        calls = ("--ranks", 2, "--transport", "shm", "--algo", "ring", "--baseline", "none", "--counts", "1,1024")
        self.measure(plain, "all_reduce", *calls)
        marked, unnamed = self.folder / "marked.jsonl", self.folder / "marked"
        bytes_of = plain.read_bytes()
        forms = {marked: codecs.BOM_UTF8 + bytes_of, unnamed: codecs.BOM_UTF8 + bytes_of,
                 self.folder / "crlf.jsonl": bytes_of.replace(b"\n", b"\r\n"),
                 self.folder / "blank.jsonl": b"\n" + bytes_of.replace(b"\n", b"\n \n\n") + b"\t",
                 self.folder / "shell.jsonl": bytes_of.decode().replace("\n", "\r\n").encode("utf-16"),
                 self.folder / "big-endian.jsonl": bytes_of.decode().encode("utf-16-be"),
                 self.folder / "all.jsonl": codecs.BOM_UTF8 + b"\r\n" + bytes_of.replace(b"\n", b"\r\n\r\n") + b"\r"}
        self.ok("results", "import", plain, "--db", self.db)
        for file, content in forms.items():
            file.write_bytes(content)
            for words in (("show",), ("check-guidelines",), ("history", "all_reduce")):
                done, expected = tutti.run(*words, file), tutti.run(*words, plain)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (expected.returncode, expected.stdout, expected.stderr))
            self.assertTrue(self.ok("results", "import", file, "--db", self.db).endswith(" 0 new\n"))
        self.assertIn("stored", tutti.run("compare", unnamed, unnamed).stdout)
        self.assertEqual(tutti.run("report", marked, "-o", self.folder / "r.html", TUTTI_PYTHON="true").stderr, "")
        unfinished = bytes_of.rpartition(b'{"v":1,"kind":"end"')[0]
        marked.write_bytes(unfinished.decode().encode("utf-16"))
        self.fails(USAGE, "bench", "--resume", marked, key="UTF-16")
        marked.write_bytes(codecs.BOM_UTF8 + b"\r\n\n" + unfinished)
        self.assertIn(" 1024 ", self.ok("bench", "--resume", marked))
        self.measure(marked, "all_reduce", *calls)
        self.assertEqual(len(tutti.points(self.file("again.jsonl", marked.read_text(encoding="utf-8-sig").lstrip()))), 2 * len(tutti.points(plain)))

    def test_are_not_judged_if_the_script_fails(self):
        self.file("results.py", "raise KeyError('planted')\n")
        done = tutti.run("results", "list", TUTTI_SCRIPTS=str(self.folder))
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("KeyError: 'planted'", done.stderr)
        self.fails(USAGE, "history", "ring", "--db", self.db, TUTTI_SCRIPTS=str(self.folder), key="planted")
        self.file("results.py", "import os\nos.kill(os.getpid(), 9)\n")
        self.fails(USAGE, "results", "list", TUTTI_SCRIPTS=str(self.folder), key="signal 9")

    def test_print_the_schema_of_the_records(self):
        schema = json.loads(self.ok("results", "schema"))
        self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_guidelines_are_checked_over_the_sweeps_of_several_collectives(self):
        file = self.folder / "r.jsonl"
        for collective in ("gather", "all_gather", "all_to_all"):
            self.measure(file, collective, "--ranks", 2, "--transport", "shm", "--algo", "ring", "--baseline", "none",
                         "--counts", "4,256", "--inplace", "no")
        done = tutti.run("check-guidelines", file, "--format", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(done.stdout)
        self.assertEqual(found["violated"], 0)  # one sample each decides nothing
        self.assertEqual({one["guideline"] for one in found["checks"]},
                         {"gather <= all_gather", "all_gather <= all_to_all", "time(n) <= time(m) for n < m", "time(k n) <= k time(n)"})
        self.assertEqual({one["bytes"] for one in found["checks"]}, {32, 2048})
        self.ok("check-guidelines", file, "--candidates", "ring")
        self.fails(USAGE, "check-guidelines", file, "--library", "mpi", key="'mpi'")

    def test_are_printed_by_one_of_many_ranks(self):
        file = self.folder / "r.jsonl"
        self.measure(file, "all_reduce", "--ranks", 2, "--transport", "shm", "--algo", "ring", "--baseline", "none", "--counts", "4")
        for words in (["results", "import", file, "--db", self.db], ["results", "schema"], ["results", "--help"],
                      ["history", "all_reduce", file], ["check-guidelines", file], ["report", file, "-o", self.folder / "r.html"]):
            with self.subTest(words):
                self.assertEqual(self.ok(*words, PMI_RANK="1", PMI_SIZE="2"), "")
        self.assertEqual([path.name for path in Path(self.folder).iterdir()], ["r.jsonl"])


class MetricNames(Database):
    def test_are_those_that_compare_gives(self):
        """For parameters, sizes and placements; compare writes the names that C++ makes."""
        measured, compared = self.folder / "bench.jsonl", self.folder / "compare.jsonl"
        self.measure(measured, *CALLS, "--ranks", 2)
        done = tutti.run("compare", "--threads", "--quads", 2, "--budget", "5s", "--json", compared, "--", "bench", *CALLS, *QUICK)
        self.assertLess(done.returncode, USAGE, done.stderr)
        self.ok("results", "import", measured, "--db", self.db)
        out = self.folder / "names.csv"
        self.ok("results", "export", "select metric from points", "--csv", out, "--db", self.db)
        names = {row[0] for row in list(csv.reader(out.read_text().splitlines()))[1:]}
        self.assertEqual(names, {record["metric"] for record in tutti.records(compared) if record["kind"] == "pair"})
        self.assertGreater(len(names), 10)


if __name__ == "__main__":
    unittest.main()
