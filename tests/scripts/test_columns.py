# SPDX-License-Identifier: Apache-2.0
"""Each column of the index, of `tutti.points()` and of the report's tables has the value of its name. No two values of a record are the
same, so that a swap of columns is seen."""

import contextlib
import csv
import json
import os
import re
import sqlite3
import subprocess
import unittest

from report_files import Values, library, step, timed
import synthetic  # found through report_files
from folder import Folder
from optional import module
from plots import records, steps, steps_table, tables
import tutti  # found through plots
from tutti import columns, database
from tutti.lines import lines_of

pandas = module("pandas")
KEY = {"coll": "reduce", "impl": "tutti", "algo": "tree", "transport": "ucx", "dtype": "half", "op": "max", "root": 2, "count": 11,
       "bytes": 22, "inplace": True, "buf": "cuda", "nranks": 4, "ppn": 3, "seg": 512, "radix": 5, "channels": 6,
       "levels": 9, "level_algorithms": 69, "placement": "scatter", "input": "rewritten", "blocks": "skewed", "aggressor": "memory",
       "order": "topology"}
TIMES = {name: 100 + place for place, name in enumerate(("min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd"))}
POINT = {"point": "id", "key": KEY, "skipped": "why", "mode": "b2b", "def": "max_local", "n": 31, "n_invalid": 32, "n_warm": 60,
         "calls_of_sample": 61, "stop_reason": "max_n", "t_ns": TIMES, "skew_p50_ns": 62, "device_p50_ns": 63, "clock_residual_ns": 64,
         "wire": {"host": 1, "tx_bytes_per_call": 65.5, "rx_bytes_per_call": 66.5}, "ci95_p50_ns": [33, 34], "rho1": 0.5, "n_slow": 35, "algbw_GBps": 36.5, "busbw_GBps": 37.5,
         "check": {"state": "ok", "n_wrong": 38}, "energy_J": 39.5, "gpu_energy_J": 40.5, "limit_ns": 41.5, "pct_of_limit": 42.5,
         "predicted_ns": 43.5, "choice": "ring/shm"}
STEP = {"key": {"workload": "ddp", "model": "net", "compute": "burn", "buffers": "mapped", "settings": "scale=1", "way": "ring", "nranks": 4,
                "ppn": 3, "bytes": 11, "calls": 12, "placement": "nodes of 2"},
        "skipped": "why", "n": 31, "ci95_step_ns": [33, 34], "ci95_exposed_ns": [36, 37], "overlap": 0.5, "slowdown": 0.25, "bound_ns": 35.5, "check": {"state": "ok", "n_wrong": 38}} | {
            f"{part}_ns": {"min": 1, "p50": 100 + place, "max": 2}
            for place, part in enumerate(("step", "compute", "communication", "exposed", "computing", "wait", "work"))}
VERDICT = {"verdict": "slower", "ratio": 1.5, "low": 1.25, "high": 1.75, "confidence": 0.98, "p": 0.125, "noise": 0.5, "mde": 0.25, "a_ns": 10,
           "b_ns": 11, "unit": "MB/s", "higher_is_better": True, "n_launch": 12, "stage": 2, "rule": "why", "to_decide": "how", "nranks": 4, "method": "stored"}
PAIR = {"stage": 2, "est": 0.5, "a_ns": 10, "b_ns": 11, "unit": "MB/s", "noise_a": 0.25, "noise_b": 0.125}
FAIL = {"point": "id", "phase": "measure", "what": "signal", "rank": 5, "host": "n1", "code": 9, "signal": 11}
SESSION = {"tool": {"version": "0.1", "dirty": True, "build_type": "Release", "compiler": "GNU"}, "argv": ["tutti"], "seed": 7, "resume_of": "h"}
LAUNCH = {"nranks": 4, "ppn": 3, "hosts": [{"name": "n0", "cpu_model": "EPYC", "kernel": "6.1"}, {"name": "n1"}],
          "mpi": {"vendor": "Open MPI", "version": "4.1"}, "ucx": {"version": "1.23"}, "nccl": {"version": "2.28"}}
RECORDS = {
    "sessions": (SESSION, SESSION["tool"] | {"argv": ["tutti"], "seed": 7, "resume_of": "h"}),
    "launches": (LAUNCH, {"nranks": 4, "ppn": 3, "hosts": 2, "host": "n0", "cpu_model": "EPYC", "kernel": "6.1", "mpi_vendor": "Open MPI",
                          "mpi_version": "4.1", "ucx_version": "1.23", "nccl_version": "2.28"}),
    "points": (POINT, {name: value for name, value in (KEY | POINT).items() if not isinstance(value, (dict, list)) and name != "order"} | {
        "rank_order": "topology", "hosts": 2, "ci95_p50_low_ns": 33, "ci95_p50_high_ns": 34, "wire_tx_bytes_per_call": 65.5,
        "wire_rx_bytes_per_call": 66.5, "check_state": "ok", "n_wrong": 38, "min_ns": 100, "p05_ns": 101,
        "p25_ns": 102, "p50_ns": 103, "p75_ns": 104, "p95_ns": 105, "p99_ns": 106, "max_ns": 107, "mean_ns": 108, "sd_ns": 109}),
    "steps": (STEP, STEP["key"] | {
        "hosts": 2, "skipped": "why", "n": 31, "step_ns": 100, "ci95_step_low_ns": 33, "ci95_step_high_ns": 34, "compute_ns": 101,
        "communication_ns": 102, "exposed_ns": 103, "ci95_exposed_low_ns": 36, "ci95_exposed_high_ns": 37, "n_wrong": 38, "computing_ns": 104, "wait_ns": 105, "work_ns": 106, "overlap": 0.5, "slowdown": 0.25, "bound_ns": 35.5,
        "check_state": "ok"}),
    "pairs": (PAIR, PAIR), "verdicts": (VERDICT, VERDICT), "fails": (FAIL, FAIL),
    "ends": ({"ok": False, "wall_ns": 12}, {"ok": False, "wall_ns": 12}),
    "limits": ({"cores": 3, "kernels": "avx2", "clock_ns": 20.5}, {"cores": 3, "kernels": "avx2", "clock_ns": 20.5}),
}


class OfTheIndex(unittest.TestCase):
    def test_have_the_values_of_their_names(self):
        self.assertEqual(set(RECORDS), set(columns.COLUMNS))
        for kind, (record, expected) in RECORDS.items():
            with self.subTest(kind):
                self.assertEqual({name: columns.value_at(record, path) for name, path in columns.COLUMNS[kind].items()}, expected)

    def test_have_the_same_values_in_sql(self):
        for kind, (record, expected) in RECORDS.items():
            with self.subTest(kind), contextlib.closing(sqlite3.connect(":memory:")) as of:
                of.execute("CREATE TABLE records(json TEXT)")
                of.execute("INSERT INTO records VALUES (?)", (json.dumps(record),))
                for name, path in columns.COLUMNS[kind].items():
                    value, = of.execute(f"SELECT {columns.sql_of(path)} FROM records").fetchone()
                    self.assertEqual(json.loads(value) if isinstance(expected[name], list) else value, expected[name], name)

    def test_have_no_interval_below_six_calls(self):
        for kind, record in (("points", POINT), ("steps", STEP)):
            for n, known in ((1, 0), (5, 0), (6, 1)):
                few = record | {"n": n}
                found = [columns.value_at(few, path) for name, path in columns.COLUMNS[kind].items() if name.startswith("ci95_")]
                self.assertEqual([value is not None for value in found], [bool(known)] * len(found), (kind, n))


    def test_have_defaults_that_records_leave_out(self):
        """A missing value would be no group of pandas, and unit "" means none."""
        verdict = {name: value for name, value in VERDICT.items() if name not in columns.DEFAULTS}
        point = {"key": {name: value for name, value in KEY.items() if f"key.{name}" not in columns.DEFAULTS}}
        of_key = {"seg": 0, "radix": 0, "channels": 1, "levels": 0, "level_algorithms": 0}
        for kind, record, expected in (("verdicts", verdict, {"p": 1.0, "unit": "ns", "higher_is_better": False, "stage": 1, "method": "turns"}),
                                       ("verdicts", verdict | {"unit": ""}, {"unit": ""}),
                                       ("points", point, of_key | {"calls_of_sample": 1}),
                                       ("points", point | {"skipped": "why"}, of_key | {"calls_of_sample": None})):
            with contextlib.closing(sqlite3.connect(":memory:")) as of:
                of.execute("CREATE TABLE records(json TEXT)")
                of.execute("INSERT INTO records VALUES (?)", (json.dumps(record),))
                for name, value in expected.items():
                    path = columns.COLUMNS[kind][name]
                    self.assertEqual(columns.value_at(record, path), value, name)
                    self.assertEqual(of.execute(f"SELECT {columns.sql_of(path)} FROM records").fetchone(), (value,), name)


def name_in_tables(path):
    """The column of a field of a point in JSON, by the rule of docs/reference/results_file.md."""
    *folders, name = path
    if folders[-1:] == ["t_ns"]:
        return f"{name}_ns"
    if isinstance(name, int):  # [low, high]
        return folders[-1].removesuffix("_ns") + ("_low_ns", "_high_ns")[name]
    if path == ["key", "order"]:
        return "rank_order"
    return f"{folders[0]}_{name}" if folders[:1] in (["check"], ["wire"]) and name != "n_wrong" else name


def leaves(value, path=()):
    if isinstance(value, (dict, list)):
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, [*path, name])
    else:
        yield list(path)


class OfAllOutputs(Folder):
    """One spelling in JSON, in the CSV of bench and show, in the database and its exports, and in data frames."""

    def setUp(self):
        super().setUp()
        self.file, self.sheet = self.folder / "r.jsonl", self.folder / "r.csv"

    def tutti(self, *words):
        return subprocess.run([records.command(), *map(str, words)], capture_output=True, text=True, check=True,
                              env=os.environ | {"TUTTI_LIMITS": "none", "TUTTI_MODEL": "none"}).stdout

    def sheet_of(self, *lines):
        """A file of these records, and the rows of its CSV."""
        self.file.write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in (synthetic.session(), synthetic.launch_record(1), *lines)))
        return list(csv.DictReader(self.tutti("show", "--csv", self.file).splitlines()))

    def heads(self, kind):
        return ["session", "launch", "t", "git", "machine", "metric", *columns.COLUMNS[kind]]

    def test_have_the_same_names_and_values(self):
        self.tutti("bench", "all_reduce", "--ranks", 2, "--transport", "shm", "--algo", "ring,tree", "--baseline", "none", "--counts", "4,256",
                   "-n", 7, "--inplace", "no", "--json", self.file, "--csv", self.sheet)
        of_bench = list(csv.reader(self.sheet.read_text().splitlines()))
        self.assertEqual(of_bench, list(csv.reader(self.tutti("show", "--csv", self.file).splitlines())))
        self.assertEqual(of_bench[0], self.heads("points"))
        database.import_lines(database.open_to_write(self.folder / "r.sqlite"), self.file, list(lines_of(self.file)))
        of_view = database.open_to_read(self.folder / "r.sqlite").execute("SELECT * FROM points")
        self.assertEqual([column[0] for column in of_view.description], ["id", *self.heads("points"), *columns.OLD_COLUMNS["points"], "json"])
        for row, of_sheet in zip(of_view, of_bench[1:], strict=True):
            for name, one, other in zip(self.heads("points"), row[1:], of_sheet):
                self.assertEqual("" if one is None else str(one), other, name)
        points = [record for record in tutti.records(self.file) if record["kind"] == "point"]
        for point in points:
            of_json = {name_in_tables(path) for path in leaves({name: value for name, value in point.items() if name not in (
                "v", "kind", "file", "straggler", "power")})}
            self.assertLessEqual(of_json, set(self.heads("points")))
            self.assertLessEqual({"ci95_p50_low_ns", "ci95_p50_high_ns", "check_state", "p50_ns", "limit_ns"}, of_json | {"limit_ns"})

    @unittest.skipUnless(pandas, "needs python3-pandas")
    def test_are_those_of_data_frames(self):
        synthetic.write(self.file, ("all_reduce",), ("ring",), ("shm",), (8,))
        self.assertEqual(list(tutti.read(self.file).columns), ["file", *self.heads("points")])

    def test_of_steps_and_verdicts_are_those_of_the_database(self):
        for kind, record in (("steps", STEP), ("verdicts", VERDICT)):
            name = {"steps": "step", "verdicts": "verdict"}[kind]
            row, = self.sheet_of({of: value for of, value in record.items() if of != "skipped"} | {"v": 1, "kind": name, "launch": 1, "metric": "m"})
            self.assertEqual(list(row), self.heads(kind))

    def test_have_the_same_limits(self):
        """A limit that was measured again replaces that of the point."""
        points = [timed("ring", size, 3000, limit_ns=limit, pct_of_limit=round(limit / 30, 1)) for size, limit in ((8, 1780.0), (64, 500.1))]
        ids = [row["point"] for row in self.sheet_of(*points)]
        points = [point | {"point": one} for point, one in zip(points, ids)]
        lower = {"v": 1, "kind": "lower_limits", "session": "s", "launch": 1, "limit_ns": {ids[0]: 950.3}}
        expected = [(950.3, 31.7), (500.1, 16.7)]
        of_sheet = [(float(row["limit_ns"]), float(row["pct_of_limit"])) for row in self.sheet_of(*points, lower)]
        summary = json.loads(self.tutti("show", "--json", self.file))
        cells = [size["cells"][0] for size in summary["tables"][0]["sizes"]]
        database.import_lines(database.open_to_write(self.folder / "r.sqlite"), self.file, list(lines_of(self.file)))
        of_view = database.open_to_read(self.folder / "r.sqlite").execute("SELECT limit_ns, pct_of_limit FROM points ORDER BY bytes").fetchall()
        of_records = [record for record in tutti.records(self.file) if record["kind"] == "point"]
        self.assertEqual([of_sheet, of_view], [expected] * 2)
        for found in (summary["points"], cells, of_records):
            self.assertEqual([(one["limit_ns"], one["pct_of_limit"]) for one in found], expected)
        bare, = self.sheet_of({name: value for name, value in points[0].items() if name not in ("limit_ns", "pct_of_limit")})
        self.assertEqual((bare["limit_ns"], bare["pct_of_limit"]), ("", ""))
        cell, = json.loads(self.tutti("show", "--json", self.file))["tables"][0]["sizes"][0]["cells"]
        self.assertEqual((cell["limit_ns"], cell["pct_of_limit"]), (None, None))


class OfTheReport(Values):
    def rows(self, html, names):
        found = [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in re.findall("<tr>(<td.*?)</tr>", html)]
        self.assertEqual(re.findall(r"<th(?: [^>]*)?>(.*?)</th>", html), list(names))
        return [dict(zip(names, row, strict=True)) for row in found]

    def test_of_steps(self):
        one = step("ring/shm", 4.0, compute=20.0, communication=5.0, half=0.24, wait_ns={"p50": 1_500_000}, work_ns={"p50": 3_500_000},
                   slowdown=1.25, overlap=0.125, metrics=[{"name": "accuracy", "value": 0.875}])
        row, = self.rows(steps_table.records_table(steps.steps_of(self.results(one))[0]), steps_table.COLUMNS)
        self.assertEqual(row, {"method": "ring/shm", "launch": "1", "step ms": "24.000", "± %": "1.0", "compute": "20.000", "communication": "5.000",
                               "exposed": "4.000", "overlap": "0.12", "slowdown": "1.25", "wait": "1.500", "work": "3.500",
                               "what else": "accuracy 0.875", "check": "ok"})

    def test_of_cells(self):
        point = timed("ring", 4096, 2000, 20, limit_ns=1000.0, busbw_GBps=7.5, stop_reason="target_ci")
        point["t_ns"] |= {"p05": 1900, "p95": 2500, "max": 3500}
        row, _ = self.rows(tables.cells_table(self.section(point, library(4096, 6000, 60)), 100)[0], tables.COLUMNS)
        self.assertTrue(row.pop(tables.COLUMNS[4]).startswith("3.00 ["))
        self.assertEqual(row, {"size": "4K", "candidate": "ring · shm", "median µs": "2.000", "± %": "1.0", "% of limit": "50", "p05": "1.900",
                               "p95": "2.500", "max": "3.500", "busbw GB/s": "7.5", "calls": "100", "launches": "1", "stopped by": "target_ci",
                               "check": "ok"})


if __name__ == "__main__":
    unittest.main()
