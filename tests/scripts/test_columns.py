# SPDX-License-Identifier: Apache-2.0
"""Each column of the index, of `tutti.points()` and of the report's tables has the value of its name. No two values of a record are the
same, so that a swap of columns is seen."""

import re
import unittest

from report_files import Values, library, step, timed
from plots import steps, steps_table, tables  # found through report_files
from tutti import columns  # found through plots

KEY = {"coll": "reduce", "impl": "tutti", "algo": "tree", "transport": "ucx", "dtype": "half", "op": "max", "root": 2, "count": 11,
       "bytes": 22, "inplace": True, "buf": "cuda", "nranks": 4, "ppn": 3, "seg": 512, "radix": 5, "channels": 6, "placement": "scatter",
       "input": "rewritten", "order": "topology"}
TIMES = {name: 100 + place for place, name in enumerate(("min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd"))}
POINT = {"point": "id", "key": KEY, "skipped": "why", "mode": "b2b", "def": "max_local", "n": 31, "n_invalid": 32, "stop_reason": "max_n",
         "t_ns": TIMES, "ci95_p50_ns": [33, 34], "rho1": 0.5, "n_slow": 35, "algbw_GBps": 36.5, "busbw_GBps": 37.5,
         "check": {"state": "ok", "n_wrong": 38}, "energy_J": 39.5, "gpu_energy_J": 40.5, "limit_ns": 41.5, "pct_of_limit": 42.5,
         "predicted_ns": 43.5, "choice": "ring/shm"}
STEP = {"key": {"workload": "ddp", "model": "net", "compute": "burn", "buffers": "mapped", "settings": "scale=1", "way": "ring", "nranks": 4,
                "ppn": 3, "bytes": 11, "calls": 12},
        "skipped": "why", "n": 31, "ci95_step_ns": [33, 34], "overlap": 0.5, "slowdown": 0.25, "bound_ns": 35.5, "check": {"state": "ok"}} | {
            f"{part}_ns": {"min": 1, "p50": 100 + place, "max": 2}
            for place, part in enumerate(("step", "compute", "communication", "exposed", "computing", "wait", "work"))}
VERDICT = {"verdict": "slower", "ratio": 1.5, "low": 1.25, "high": 1.75, "confidence": 0.98, "p": 0.125, "noise": 0.5, "mde": 0.25, "a_ns": 10,
           "b_ns": 11, "unit": "MB/s", "n_launch": 12, "stage": 2, "rule": "why"}
PAIR = {"stage": 2, "est": 0.5, "a_ns": 10, "b_ns": 11, "unit": "MB/s", "noise_a": 0.25, "noise_b": 0.125}
FAIL = {"point": "id", "phase": "measure", "what": "signal", "rank": 5, "host": "n1", "code": 9, "signal": 11}
SESSION = {"tool": {"version": "0.1", "dirty": True, "build_type": "Release", "compiler": "GNU"}, "argv": ["tutti"], "seed": 7, "resume_of": "h"}
LAUNCH = {"nranks": 4, "ppn": 3, "hosts": [{"name": "n0", "cpu_model": "EPYC", "kernel": "6.1"}, {"name": "n1"}],
          "mpi": {"vendor": "Open MPI", "version": "4.1"}, "ucx": {"version": "1.23"}, "nccl": {"version": "2.28"}}
RECORDS = {
    "sessions": (SESSION, SESSION["tool"] | {"argv": ["tutti"], "seed": 7, "resume_of": "h"}),
    "launches": (LAUNCH, {"nranks": 4, "ppn": 3, "host": "n0", "cpu_model": "EPYC", "kernel": "6.1", "mpi_vendor": "Open MPI",
                          "mpi_version": "4.1", "ucx_version": "1.23", "nccl_version": "2.28"}),
    "points": (POINT, {name: value for name, value in (KEY | POINT).items() if not isinstance(value, (dict, list)) and name != "order"} | {
        "rank_order": "topology", "ci95_low_ns": 33, "ci95_high_ns": 34, "check_state": "ok", "n_wrong": 38, "min_ns": 100, "p05_ns": 101,
        "p25_ns": 102, "p50_ns": 103, "p75_ns": 104, "p95_ns": 105, "p99_ns": 106, "max_ns": 107, "mean_ns": 108, "sd_ns": 109}),
    "steps": (STEP, STEP["key"] | {
        "skipped": "why", "n": 31, "step_ns": 100, "ci95_low_ns": 33, "ci95_high_ns": 34, "compute_ns": 101, "communication_ns": 102,
        "exposed_ns": 103, "computing_ns": 104, "wait_ns": 105, "work_ns": 106, "overlap": 0.5, "slowdown": 0.25, "bound_ns": 35.5,
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
