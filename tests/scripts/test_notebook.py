# SPDX-License-Identifier: Apache-2.0
"""The notebook of docs/reference/results_file.md, and other readers of the tables, give the right medians for a store with 2 and 4 ranks,
two kinds of memory and two machines, out of place and in place."""

import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import synthetic  # noqa: E402
import tutti  # noqa: E402
from folder import Folder  # noqa: E402
from optional import module  # noqa: E402
from tutti import names  # noqa: E402

matplotlib, pandas, duckdb, pyarrow = map(module, ("matplotlib", "pandas", "duckdb", "pyarrow"))

TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
PAGE = ROOT / "docs/reference/results_file.md"
LAUNCHES, SIZES = 7, (1024, 65536)
MACHINES = {"monday.jsonl": "a" * 64, "tuesday.jsonl": "b" * 64}
CANDIDATES = {"ring": ("tutti", "shm", 1000), "mpi": ("mpi", "", 1700)}


def blocks(language):
    """The examples of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def time_of(machine, nranks, buf, size, algo, launch, inplace=False):
    base = (11 if inplace else 10) * CANDIDATES[algo][2] * nranks * size // 1024 * (3 if buf == "host" else 2) * (5 if machine == "b" * 64 else 4)
    return base * (100 + (3 * launch + len(algo)) % LAUNCHES) // 1000


class Store(Folder):
    def setUp(self):
        super().setUp()
        self.expected = {}
        for name, machine in MACHINES.items():
            lines = []
            for nranks, launch in itertools.product((2, 4), range(LAUNCHES)):
                here = {"session": f"{name}-{nranks}-{launch}", "launch": 1, "t": f"2026-01-{launch + 1:02}T12:00:00.000Z"}
                lines += [synthetic.session() | {"id": here["session"], "t": here["t"]},
                          synthetic.launch_record(1) | here | {"nranks": nranks, "ppn": nranks, "topo_sha256": machine}]
                lines += [self.point(here, machine, nranks, launch, *what)
                          for what in itertools.product(("registered", "host"), SIZES, CANDIDATES, (False, True))]
            (self.folder / name).write_text("".join(json.dumps(synthetic.whole(line)) + "\n" for line in lines))
        self.expected = {of: statistics.median(times) for of, times in self.expected.items()}
        self.assertEqual(len(self.expected), 2 ** 6)

    def point(self, here, machine, nranks, launch, buf, size, algo, inplace):
        impl, transport, _ = CANDIDATES[algo]
        key = synthetic.key("all_reduce", impl, algo if impl == "tutti" else "", transport, size)
        key |= {"buf": buf, "nranks": nranks, "ppn": nranks, "inplace": inplace}
        p50 = time_of(machine, nranks, buf, size, algo, launch, inplace)
        point = {"v": 1, "kind": "point", "key": key, "n": 9, "t_ns": {"p50": p50}, "ci95_p50_ns": [p50 - 1, p50 + 1],
                 "busbw_GBps": 1.0, "check": {"state": "ok"}} | {name: here[name] for name in ("session", "launch")}
        self.expected.setdefault((machine, names.metric_of(point), "deadline"), []).append(p50)
        return point

    def exported(self, form):
        script, db, out = ROOT / "scripts/results.py", self.folder / "r.sqlite", self.folder / f"points.{form}"
        for words in (["import", *(self.folder / name for name in MACHINES)], ["export", f"--{form}", out]):
            subprocess.run([sys.executable, "-B", script, *map(str, words), "--db", db], check=True, stdout=subprocess.DEVNULL)
        return out


@unittest.skipUnless(pandas and matplotlib, "needs python3-pandas and python3-matplotlib")
class Notebook(Store):
    def run_page(self):
        matplotlib.use("Agg")
        names_ = {}
        with self.in_folder():
            for block in blocks("python"):
                exec(compile(block, str(PAGE), "exec"), names_)  # pylint: disable=exec-used
        return names_

    @contextlib.contextmanager
    def in_folder(self):
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)

    def test_has_the_right_medians_ratios_and_intervals(self):
        found = self.run_page()
        self.assertEqual(dict(found["medians"]), self.expected)
        self.assertGreater((self.folder / "ratio.pdf").stat().st_size, 1000)
        table = found["table"]
        self.assertEqual(list(table.index), list(SIZES))
        for size in SIZES:
            ratios = [time_of("a" * 64, 4, "registered", size, "mpi", launch) / time_of("a" * 64, 4, "registered", size, "ring", launch)
                      for launch in range(LAUNCHES)]
            row = table.loc[size]
            self.assertEqual((row.ratio, row.low, row.high), (statistics.median(ratios), min(ratios), max(ratios)))

    def test_has_the_ratios_of_show(self):
        table = self.run_page()["table"]
        done = subprocess.run([TUTTI, "show", "--json", self.folder / "monday.jsonl"], capture_output=True, text=True, check=True)
        ranking, = (one for one in json.loads(done.stdout)["tables"] if (one["key"]["nranks"], one["key"]["buf"], one["key"]["inplace"]) == (4, "registered", False))
        ring, = (i for i, one in enumerate(ranking["candidates"]) if one["algo"] == "ring")
        for size in ranking["sizes"]:
            ratio = next(cell for cell in size["cells"] if cell["candidate"] == ring)["over_library"]
            row = table.loc[size["bytes"]]
            for one, other in zip((ratio["value"], ratio["low"], ratio["high"]), row):
                self.assertAlmostEqual(one, other, places=9)

    def test_is_right_for_tables_of_other_commands(self):
        sheet = self.folder / "show.csv"
        with open(sheet, "wb") as stream:
            subprocess.run([TUTTI, "show", "--csv", *(self.folder / name for name in MACHINES)], check=True, stdout=stream)
        for file in (self.exported("csv"), sheet):
            table = pandas.read_csv(file)
            self.assertEqual(dict(table[table.skipped.isna()].groupby(["machine", "metric", "mode"]).p50_ns.median()), self.expected)


class Others(Store):
    @unittest.skipUnless(duckdb, "needs the Python module duckdb")
    def test_duckdb_has_the_right_medians(self):
        for form in ["csv"] + ["parquet"] * bool(pyarrow):
            query, = blocks("sql")
            rows = duckdb.sql(query.replace("points.csv", str(self.exported(form)))).fetchall()
            self.assertEqual({tuple(of): p50 for *of, p50 in rows}, self.expected)

    def test_intervals_are_those_of_order_statistics(self):
        for count, low, high in ((6, 1, 6), (7, 1, 7), (8, 1, 8), (9, 1, 9), (20, 5, 16)):
            self.assertEqual(tutti.median_interval(range(count, 0, -1)), (low, high))
        self.assertTrue(all(end != end for end in tutti.median_interval(range(5))))  # pylint: disable=comparison-with-itself


if __name__ == "__main__":
    unittest.main()
