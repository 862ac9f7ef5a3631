# SPDX-License-Identifier: Apache-2.0
"""The index over results files: every record once, nothing lost, and refusals of one line."""

import csv
import json
import sqlite3
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import synthetic  # noqa: E402
import tutti  # noqa: E402
from folder import Folder  # noqa: E402
from optional import module  # noqa: E402
from tutti import columns, database, knobs, names  # noqa: E402

pandas, pyarrow, parquet = map(module, ("pandas", "pyarrow", "pyarrow.parquet"))

REFERENCE = ROOT / "results/reference/epyc-2-cores/all_reduce-np2.jsonl"
PAGE = ROOT / "docs/reference/results_file.md"


def results(*words):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/results.py", *map(str, words)], capture_output=True,
                          text=True, check=False)


def resumed_run():
    """In three parts, s, t and u: the step that two of them wrote before its end, and a point that was measured again."""
    step = {"v": 1, "kind": "partial_step", "partial": True, "launch": 1,
            "key": {"workload": "ddp", "model": "net", "way": "mpi", "nranks": 2, "ppn": 2, "bytes": 8, "calls": 1}}
    last = {name: value for name, value in step.items() if name != "partial"} | {"kind": "step"}
    points = [{"v": 1, "kind": "point", "launch": 1, "point": algo * 16, "key": synthetic.key("all_reduce", "tutti", algo, "shm", 8)}
              for algo in "ab"]
    for n, (session, resumed, measured) in enumerate((("s", None, [*points, step]), ("t", "s", [step]), ("u", "t", [points[1], last])), 1):
        yield synthetic.session() | {"id": session} | ({"resume_of": resumed} if resumed else {})
        yield synthetic.launch_record(1) | {"session": session}
        yield from (one | {"session": session, "n": n} for one in measured)


class WithDatabase(Folder):
    def setUp(self):
        super().setUp()
        self.db = self.folder / "results.sqlite"

    def sweep(self, name="r.jsonl", **named):
        return Path(synthetic.write(self.folder / name, ("all_reduce",), ("ring", "tree"), ("shm",), (8, 1 << 20), **named))

    def file(self, name, *lines):
        path = self.folder / name
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def lines(self, name, *records):
        return self.file(name, *map(json.dumps, records), "")

    def ok(self, *words):
        done = results(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *words, says):
        done = results(*words)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
        self.assertIn(says, done.stderr)

    def dump(self):
        """Everything in the database."""
        with sqlite3.connect(self.db) as of:
            return list(of.iterdump())

    def select(self, query):
        return database.open_to_read(self.db).execute(query).fetchall()


class Import(WithDatabase):
    def test_takes_every_record_and_its_very_text(self):
        self.ok("import", REFERENCE, "--db", self.db)
        lines = REFERENCE.read_text(encoding="utf-8").splitlines()
        self.assertEqual({json for json, in self.select("SELECT json FROM records")}, set(lines))
        self.assertEqual(self.select("SELECT count(*) FROM records"), [(len(lines),)])
        in_views = sum(self.select(f"SELECT count(*) FROM {view}")[0][0] for view in columns.COLUMNS)
        self.assertEqual(in_views, len(lines))

    def test_of_the_same_file_again_changes_nothing(self):
        file = self.sweep()
        self.assertIn(" 9 records, 9 new\n", self.ok("import", file, "--db", self.db))
        before = self.dump()
        self.assertIn(" 0 new\n", self.ok("import", file, "--db", self.db))
        self.assertEqual(self.dump(), before)

    def test_of_a_file_that_has_grown_adds_what_is_new(self):
        file = self.sweep()
        self.ok("import", file, "--db", self.db)
        with open(file, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(synthetic.launch_record(2)) + "\n")
        self.assertIn(" 1 new\n", self.ok("import", file, "--db", self.db))

    def test_of_a_copy_adds_no_record(self):
        file = self.sweep()
        copy = self.file("copy.jsonl", file.read_text(encoding="utf-8"))
        self.assertTrue(self.ok("import", file, copy, "--db", self.db).endswith(" 0 new\n"))

    def test_counts_torn_and_foreign_lines_and_takes_the_rest(self):
        good = json.dumps(synthetic.session())
        file = self.file("torn.jsonl", "size,count", good, '{"no":"version"}', '{"v":2,"kind":"point"}', '{"v":1,"kind":"x","y":NaN}',
                         '{"v":1,"kind":"po')
        done = results("import", file, "--db", self.db)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 records, 1 new; ", done.stdout)
        self.assertIn("torn.jsonl:1: not JSON", done.stderr)
        self.assertEqual(self.select("SELECT torn, foreign_lines FROM files"), [(1, 4)])

    def test_refuses_a_file_without_records_and_takes_the_others(self):
        letter, good = self.file("letter.txt", "Dear reader,"), self.sweep()
        done = results("import", letter, good, "--db", self.db)
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("letter.txt", done.stderr)
        self.assertEqual(self.select("SELECT count(*) FROM files"), [(1,)])

    def test_takes_records_that_it_does_not_know(self):
        odd = [{"v": 1, "kind": "novel", "session": 7, "launch": {}}, {"v": 1, "kind": "point", "key": 3, "launch": 1 << 70},
               {"v": 1, "kind": "pair", "metric": "\ud800", "session": "\ud800"}]
        self.assertIn(" 3 records, 3 new\n", self.ok("import", self.lines("odd.jsonl", *odd), "--db", self.db))
        self.assertEqual(self.select("SELECT count(*) FROM records"), [(3,)])

    def test_keeps_files_without_sessions_apart(self):
        point = {name: value for name, value in next(one for one in tutti.records(self.sweep()) if one["kind"] == "point").items()
                 if name not in ("session", "file")}
        files = [self.lines(f"{t}.jsonl", {"v": 1, "kind": "launch", "launch": 1, "t": t, "nranks": 4, "ppn": 4}, point)
                 for t in ("2026-01-01T", "2026-01-02T")]
        self.ok("import", *files, "--db", self.db)
        self.assertEqual(self.select("SELECT t FROM points ORDER BY t"), [("2026-01-01T",), ("2026-01-02T",)])

    def test_goes_on_after_a_file_that_cannot_be_read(self):
        empty, good = self.file("empty.jsonl"), self.sweep()
        done = results("import", empty, self.folder / "none.jsonl", good, "--db", self.db)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1))
        self.assertIn("is empty", done.stderr)
        self.assertIn("none.jsonl", done.stderr)
        self.assertIn(f"{good}: ", done.stdout)

    def test_by_several_at_once_takes_each_record_once(self):
        file = self.sweep()
        command = [sys.executable, "-B", ROOT / "scripts/results.py", "import", file, "--db", self.db]
        running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for one in running:
            _, said = one.communicate(timeout=60)
            self.assertEqual((one.returncode, said), (0, ""))
        self.assertEqual(self.select("SELECT count(*) FROM records")[0][0], len(file.read_text().splitlines()))


class Views(WithDatabase):
    def test_have_the_values_of_the_records_and_of_their_launch(self):
        file = self.sweep()
        self.ok("import", file, "--db", self.db)
        asked = {(one["key"]["algo"], one["key"]["bytes"]): one["t_ns"]["p50"] for one in tutti.records(file)
                 if one["kind"] == "point"}
        rows = self.select("SELECT CASE impl WHEN 'mpi' THEN 'mpi' ELSE algo END, bytes, p50_ns, t, git, metric FROM points")
        self.assertEqual({row[:2]: row[2] for row in rows}, asked)
        self.assertEqual({row[3:5] for row in rows}, {("2026-01-31T12:00:00.000Z", "f723474")})
        self.assertIn("all_reduce 1M float sum host ring (shm), 4 ranks", {row[5] for row in rows})

    def test_leave_out_steps_that_a_later_record_replaces(self):
        key = {"workload": "ddp", "model": "net", "way": "mpi", "nranks": 2, "ppn": 2, "bytes": 8, "calls": 1}
        head = {"v": 1, "session": "s", "launch": 1, "key": key}
        partial = [head | {"kind": "partial_step", "partial": True, "n": n} for n in (1, 2)]
        other = head | {"kind": "partial_step", "partial": True, "n": 9, "key": key | {"way": "ring/shm"}}
        self.ok("import", self.lines("s.jsonl", *partial, other), "--db", self.db)
        two = ", 2 ranks"
        self.assertEqual(self.select("SELECT metric, n FROM steps ORDER BY n"), [("ddp net mpi" + two, 2), ("ddp net ring/shm" + two, 9)])
        self.ok("import", self.lines("t.jsonl", head | {"kind": "step", "n": 3}), "--db", self.db)
        self.assertEqual(self.select("SELECT n FROM steps ORDER BY n"), [(3,), (9,)])
        self.assertEqual(self.select("SELECT count(*) FROM records"), [(4,)])

    def test_leave_out_steps_that_a_run_replaced_after_it_was_resumed(self):
        loop = [synthetic.session() | {"id": one, "resume_of": other} for one, other in (("x", "y"), ("y", "x"), ("z", "z"))]
        of_loop = {"v": 1, "kind": "partial_step", "session": "x", "launch": 1, "key": {"workload": "w", "model": "m", "way": "mpi"}, "n": 9}
        self.ok("import", self.lines("r.jsonl", *resumed_run(), *loop, of_loop), "--db", self.db)
        self.assertEqual(self.select("SELECT session, n FROM steps ORDER BY n"), [("u", 3), ("x", 9)])

    def test_points_have_the_limits_that_were_measured_again_in_their_launch(self):
        points = [{"v": 1, "kind": "point", "point": point, "session": "s", "launch": launch, "t_ns": {"p50": 1000}}
                  | ({"limit_ns": limit, "pct_of_limit": limit / 10} if limit else {})
                  for point, launch, limit in (("a", 1, 1780.0), ("a", 2, 1780.0), ("b", 2, 500.0), ("c", 2, None))]
        lower = [{"v": 1, "kind": "lower_limits", "session": "s", "launch": 2, "limit_ns": {"a": limit, "c": 1.0, 'd"': 1.0}}
                 for limit in (950.0, 900.0)]
        file = self.lines("l.jsonl", *points, *lower, lower[0] | {"limit_ns": "odd"}, lower[0] | {"limit_ns": {"b": "odd"}})
        self.ok("import", file, "--db", self.db)
        found = self.select("SELECT limit_ns, pct_of_limit FROM points ORDER BY id")
        self.assertEqual(found, [(1780.0, 178.0), (900.0, 90.0), (500.0, 50.0), (None, None)])
        self.assertEqual(found, [(one.get("limit_ns"), one.get("pct_of_limit")) for one in tutti.records(file) if one["kind"] == "point"])

    def test_are_those_of_this_tutti_in_an_older_database(self):
        self.ok("import", self.lines("r.jsonl", *resumed_run()), "--db", self.db)
        views = "SELECT sql FROM sqlite_master WHERE type = 'view' ORDER BY sql"
        new = self.select(views)
        with sqlite3.connect(self.db) as of:
            of.execute("DROP VIEW steps")
            of.execute("CREATE VIEW steps AS SELECT 1 AS n")
        self.assertEqual(self.ok("query", "select n from steps", "--db", self.db).split(), ["n", "3"])
        self.ok("import", self.sweep(), "--db", self.db)
        self.assertEqual(self.select(views), new)

    def test_name_the_metrics_of_an_older_database_as_this_tutti_does(self):
        """Older versions named metrics without ranks. A query of such a database leaves the file as it is; the next import renames them."""
        self.ok("import", self.sweep(), "--db", self.db)
        query = "SELECT DISTINCT metric FROM points WHERE bytes = 8 AND algo = 'ring'"
        new = self.select(query)
        with sqlite3.connect(self.db) as of:
            of.execute("UPDATE records SET metric = replace(metric, ', 4 ranks', '')")
        before = self.dump()
        self.assertEqual(self.select(query), new)
        self.assertEqual(new, [("all_reduce 8 float sum host ring (shm), 4 ranks",)])
        for words in ("all_reduce 8 ring", "all_reduce 8 float sum host ring (shm)", "all_reduce 8 float sum host ring (shm), 4 ranks"):
            self.assertEqual(self.ok("records", words, "--db", self.db).count('"kind": "point"'), 1)
        self.assertEqual(self.dump(), before)
        self.ok("import", self.sweep(), "--db", self.db)
        with sqlite3.connect(self.db) as of:
            self.assertEqual(of.execute("SELECT count(*) FROM records WHERE metric LIKE '%, 4 ranks'").fetchall(), [(6,)])

    def test_have_the_columns_of_older_queries(self):
        self.ok("import", self.sweep(), "--db", self.db)
        self.assertEqual(self.select("SELECT ci95_low_ns, ci95_high_ns FROM points"), self.select("SELECT ci95_p50_low_ns, ci95_p50_high_ns FROM points"))

    def test_stand_on_the_page_with_every_column(self):
        page = PAGE.read_text(encoding="utf-8")
        for view, of_view in columns.COLUMNS.items():
            for name in [view, *of_view]:  # those of knobs are in `tutti list --json`
                if name in (knob["key"] for knob in knobs.KNOBS):
                    continue
                self.assertIn(f"`{name}`", page, f"{view}.{name}")
        self.assertIn(f"version {database.SCHEMA}", page)


class Finding(WithDatabase):
    def setUp(self):
        super().setUp()
        self.file_ = self.sweep()
        self.ok("import", self.file_, "--db", self.db)

    def test_list_and_show_tell_of_sessions_and_points(self):
        self.assertRegex(self.ok("list", "--db", self.db), r"\ns +2026-01-31T12:00:00 +f723474 +1 +6 +0 +tutti bench all ")
        shown = self.ok("show", "s", "--db", self.db)
        self.assertIn("launch  1, 2026-01-31T12:00:00.000Z, 4 ranks", shown)
        self.assertIn("ended well", shown)
        self.assertEqual(shown.count("all_reduce "), 6)
        self.refused("show", "x", "--db", self.db, says="'x'")

    def test_conditions_and_statements_find_the_same(self):
        by_condition = self.ok("query", "bytes >= 1M and algo = 'ring'", "--db", self.db)
        self.assertEqual(len(by_condition.splitlines()), 2)
        p50 = self.select("SELECT p50_ns FROM points WHERE bytes = 1048576 AND algo = 'ring'")[0][0]
        self.assertIn(f"{p50:.6g}", by_condition)
        self.assertEqual(self.ok("query", "select count(*) from points", "--db", self.db).split(), ["count(*)", "6"])
        self.assertEqual(len(self.ok("query", "metric = 'all_reduce 1M float sum host ring (shm), 4 ranks'", "--db", self.db)
                             .splitlines()), 2)  # a size within a text stays as it is

    def test_no_query_changes_anything(self):
        before = self.dump()
        for query in ("delete from records", "1) ; drop table records; --", "with x as (select 1) delete from records",
                      "select 1; delete from records", "coll = all_reduce"):
            with self.subTest(query):
                self.refused("query", query, "--db", self.db, says="tutti results query")
        self.assertEqual(self.dump(), before)

    def test_export_writes_every_point_for_spreadsheets(self):
        out = self.folder / "points.csv"
        self.assertIn("6 rows", self.ok("export", "--csv", out, "--db", self.db))
        with open(out, encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        self.assertEqual(len(rows), 6)
        self.assertLess(set(columns.COLUMNS["points"]), set(rows[0]))
        self.assertEqual({json.loads(row["json"])["t_ns"]["p50"] for row in rows}, {int(row["p50_ns"]) for row in rows})
        to_stdout = self.ok("export", "algo = 'ring'", "--csv", "-", "--db", self.db)
        self.assertEqual(len(to_stdout.splitlines()), 3)
        self.refused("export", "--csv", self.folder / "no/such", "--db", self.db, says="cannot write")

    @unittest.skipUnless(pyarrow, "needs the Python module pyarrow")
    def test_export_writes_parquet(self):
        out = self.folder / "points.parquet"
        self.assertIn("6 rows", self.ok("export", "--parquet", out, "--db", self.db))
        table = parquet.read_table(out)
        self.assertEqual(table.column("p50_ns").to_pylist(), [float(p50) for p50, in self.select("SELECT p50_ns FROM points")])
        types = {field.name: str(field.type) for field in table.schema}
        self.assertEqual([types[name] for name in ("metric", "bytes", "p50_ns", "limit_ns", "skipped")],
                         ["string", "int64", "double", "double", "string"])

    @unittest.skipIf(pyarrow, "the Python module pyarrow is there")
    def test_parquet_without_pyarrow_is_refused(self):
        self.refused("export", "--parquet", self.folder / "points.parquet", "--db", self.db, says="pyarrow")
        self.assertFalse((self.folder / "points.parquet").exists())


class Refusals(WithDatabase):
    def test_a_newer_schema_is_refused(self):
        self.ok("import", self.sweep(), "--db", self.db)
        with sqlite3.connect(self.db) as of:
            of.execute(f"PRAGMA user_version = {database.SCHEMA + 1}")
        for words in (["list"], ["import", self.folder / "r.jsonl"]):
            self.refused(*words, "--db", self.db, says=f"version {database.SCHEMA + 1}")

    def test_what_is_no_database_of_results_stays_as_it_is(self):
        file = self.sweep()
        text = file.read_bytes()
        self.refused("import", file, "--db", file, says="not a database")
        self.assertEqual(file.read_bytes(), text)
        with sqlite3.connect(self.db) as of:
            of.execute("CREATE TABLE others(x)")
        before = self.dump()
        self.refused("import", file, "--db", self.db, says="not a database")
        self.assertEqual(self.dump(), before)

    def test_of_words_are_one_line(self):
        self.refused("list", "--db", self.folder / "none.sqlite", says="results import FILES --db ")
        self.refused("import", "x.jsonl", "--db", self.folder / "no/such/folder.sqlite", says="cannot open")
        for words in ([], ["improt"], ["import"], ["list", "--nope"], ["export"]):
            self.refused(*words, says="use for example")


class Reading(WithDatabase):
    def test_records_are_as_they_stand_in_the_file(self):
        file = self.sweep()
        expected = [json.loads(line) | {"file": str(file)} for line in file.read_text().splitlines()]
        self.assertEqual(tutti.records(file), expected)
        self.assertEqual(tutti.records([str(file)] * 2), expected * 2)

    def test_of_a_run_that_was_resumed_name_who_began_it_and_leave_out_what_was_measured_again(self):
        found = tutti.records(self.lines("r.jsonl", *resumed_run()))
        self.assertEqual([(one["n"], one.get("begun_as")) for one in found if one["kind"] == "step"], [(3, "s")])
        self.assertEqual([(one["n"], one.get("begun_as")) for one in found if one["kind"] == "point"], [(1, None), (3, "s")])

    def test_a_torn_line_warns_and_a_foreign_one_is_refused(self):
        good = json.dumps(synthetic.session())
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(len(tutti.records(self.file("t.jsonl", good, '{"v":1,'))), 1)
        self.assertIn("t.jsonl:2: not JSON", str(said[0].message))
        with self.assertRaisesRegex(tutti.ResultsError, "f.jsonl:1: not JSON"):
            tutti.records(self.file("f.jsonl", "size", good))

    def test_needs_no_pandas_for_dicts(self):
        script = "import sys; sys.modules['pandas'] = None; import tutti; print(len(tutti.records(sys.argv[1])))"
        done = subprocess.run([sys.executable, "-B", "-c", script, self.sweep()], capture_output=True, text=True, check=True,
                              env={"PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(done.stdout, "9\n")

    @unittest.skipUnless(pandas, "needs python3-pandas")
    def test_a_data_frame_has_a_row_for_each_point(self):
        file = self.sweep(launches=3)
        table = tutti.read(file)
        points = [one for one in tutti.records(file) if one["kind"] == "point"]
        self.assertEqual(len(table), len(points))
        self.assertEqual(list(table.p50_ns), [one["t_ns"]["p50"] for one in points])
        self.assertEqual(list(table.columns)[:7], ["file", "session", "launch", "t", "git", "machine", "metric"])
        self.assertEqual(table.t.dt.year.unique().tolist(), [2026])
        medians = table.groupby("metric").p50_ns.median()
        self.assertEqual(len(medians), 6)
        self.assertTrue(table.p50_ns[table.skipped.isna()].notna().all())


class Names(unittest.TestCase):
    def test_are_those_of_compare(self):
        key = synthetic.key("broadcast", "tutti", "tree", "shm", 4096, inplace=True) | {"buf": "registered"}
        self.assertEqual(names.metric_of({"kind": "point", "key": key}), "broadcast 4K float root 0 in place registered tree (shm), 4 ranks")
        values = {"seg": 65536, "radix": 4, "channels": 2, "order": "topology", "input": "rewritten"}
        self.assertEqual(names.metric_of({"kind": "point", "key": key | values}),
                         "broadcast 4K float root 0 in place registered rewritten tree[64K,k4,x2]@topology (shm), 4 ranks")
        blocks = synthetic.key("all_to_all", "tutti", "linear", "shm", 4096) | {"blocks": "random:7"}
        self.assertEqual(names.call_in_words(blocks).split(), ["all_to_all_v", "4K", "float", "host", "random:7"])
        self.assertEqual(names.candidate_in_words(key | {"levels": 9, "level_algorithms": 69}), "tree[l=cache+host,a=multi-rail+one-shot] (shm)")
        self.assertEqual(names.candidate_in_words(key | {"lanes": 4}), "tree[lanes=4] (shm)", "a field of another version")
        forced = synthetic.key("all_reduce", "mpi", "ring", "", 1000)
        self.assertEqual(names.metric_of({"kind": "point", "key": forced}), "all_reduce 1000 float sum host mpi/ring, 4 ranks")
        self.assertEqual(names.candidate_in_words(forced | {"algo": "mpi"}), "mpi")
        for change, place in (({"nranks": 1, "ppn": 1}, "1 rank"), ({"ppn": 0}, "4 ranks"), ({"nranks": 5, "ppn": 2}, "5 ranks on 3 hosts"),
                              ({"ppn": 4, "placement": "scatter"}, "4 ranks, scatter")):
            metric = names.metric_of({"kind": "point", "key": forced | change})
            self.assertEqual(metric, f"all_reduce 1000 float sum host mpi/ring, {place}")
            self.assertEqual(names.without_place(metric), "all_reduce 1000 float sum host mpi/ring")
        self.assertEqual(names.without_place("a, 2 ranks -> b, 4 ranks"), "a -> b")


if __name__ == "__main__":
    unittest.main()
