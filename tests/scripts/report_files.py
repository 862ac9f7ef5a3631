# SPDX-License-Identifier: Apache-2.0
"""Results files for tests of the report, and a place to run it."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
sys.path[:0] = [str(HERE), str(SCRIPTS)]

import synthetic  # noqa: E402
from folder import Folder  # noqa: E402
from optional import module  # noqa: E402
from plots import records, sections  # noqa: E402

needs_matplotlib = unittest.skipUnless(module("matplotlib"), "needs python3-matplotlib")
SMALL = {"collectives": ("all_reduce",), "algorithms": ("ring", "one-shot"), "sizes": (8, 1 << 20)}


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPTS / "report.py", *map(str, arguments)], capture_output=True,
                          text=True, check=False)


class ReportFiles(Folder):
    def file(self, text, name="r.jsonl"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def lines(self, *records_, name="r.jsonl"):
        """A file of these records, with all the fields that tutti writes and a session of their own."""
        if not any(record["kind"] == "session" for record in records_):
            records_ = synthetic.session(), *records_
        return self.file("".join(json.dumps(synthetic.whole(record, name)) + "\n" for record in records_), name)

    def report(self, source, *options):
        """The page."""
        out = self.folder / "report.html"
        done = run(*(source if isinstance(source, list) else [source]), "-o", out, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out.read_text(encoding="utf-8")


class Values(ReportFiles):
    def results(self, *points, name="r.jsonl"):
        return records.read([self.lines(*points, name=name)])

    def section(self, *points):
        only, = sections.sections_of(self.results(*points))
        return only


class Drawn(ReportFiles):
    def drawn(self, points, kind):
        """The figure of this kind, and its axes."""
        from plots import figures, style
        report = figures.report_of(records.read([self.lines(*points)]))
        drawing, = (drawing for drawing in report.drawings() if drawing.kind == kind)
        with style.settings():
            return drawing, drawing.draw(style.Canvas(report.palette())).axes[0]


def legend_of(axes):
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


def timed(algo, size, p50, half=0, launch=1, impl="tutti", **changes):
    """A point whose median is `p50` with an interval of +- `half`."""
    point = {"v": 1, "kind": "point", "launch": launch,
             "key": synthetic.key("all_reduce", impl, algo, "shm" if impl == "tutti" else "", size),
             "n": 100, "t_ns": {"p05": p50, "p50": p50, "p95": p50, "max": p50},
             "ci95_p50_ns": [p50 - half, p50 + half], "busbw_GBps": size / max(p50, 1),
             "check": {"state": "ok", "n_wrong": 0}}
    return point | changes


def library(size, p50, half=0, launch=1, **changes):
    return timed("", size, p50, half, launch, impl="mpi", **changes)


def with_key(point, **changes):
    return point | {"key": point["key"] | changes}


def step(method, exposed, compute=20.0, communication=5.0, half=0.0, **changes):
    """A training step; times in ms."""
    def times(ms):
        return {"p50": round(ms * 1e6)}
    whole = compute + exposed
    return {"v": 1, "kind": "step", "launch": 1, "n": 10, "overlap": 1 - exposed / communication, "slowdown": 1.0,
            "key": {"workload": "ddp", "model": "resnet50", "compute": "sleep", "settings": "scale=small", "way": method,
                    "nranks": 2},
            "step_ns": times(whole), "ci95_step_ns": [round((whole - half) * 1e6), round((whole + half) * 1e6)],
            "compute_ns": times(compute), "communication_ns": times(communication), "exposed_ns": times(exposed),
            "wait_ns": times(0.1), "work_ns": times(communication), "check": {"state": "ok", "n_wrong": 0}} | changes


def launch_of(number=1, nranks=4, cores=4, load=0.1, **changes):
    record = synthetic.launch_record(number) | {"nranks": nranks} | changes
    record["hosts"] = [record["hosts"][0] | {"cores": cores, "loadavg1": load}]
    return record | {"session": "s"}
