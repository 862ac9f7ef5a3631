# SPDX-License-Identifier: Apache-2.0
"""The report on results files that the tests make themselves."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parents[1] / "scripts"
sys.path[:0] = [str(HERE), str(SCRIPTS)]

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError:
    matplotlib = None

import synthetic  # noqa: E402
from plots import findings, records, sections  # noqa: E402

if matplotlib:
    from plots import style

SMALL = {"collectives": ("all_reduce",), "algorithms": ("ring", "one-shot"), "sizes": (8, 1 << 20)}


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPTS / "report.py", *map(str, arguments)], capture_output=True,
                          text=True, check=False)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text, name="r.jsonl"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def lines(self, *records_):
        return self.file("".join(json.dumps(record) + "\n" for record in records_))


def timed(algo, size, p50, half=0, launch=1, impl="tutti", **changes):
    """A point whose median is `p50` with an interval of +- `half`."""
    point = {"v": 1, "kind": "point", "launch": launch,
             "key": synthetic.key("all_reduce", impl, algo, "shm" if impl == "tutti" else "", size),
             "n": 100, "t_ns": {"p05": p50, "p50": p50, "p95": p50, "max": p50},
             "ci95_p50_ns": [p50 - half, p50 + half], "busbw_GBps": size / max(p50, 1),
             "check": {"state": "ok", "n_wrong": 0}}
    return point | changes


def step(method, exposed, compute=20.0, communication=5.0, **changes):
    """A training step; times in ms."""
    def times(ms):
        return {"p50": round(ms * 1e6)}
    return {"v": 1, "kind": "step", "launch": 1, "n": 10, "overlap": 1 - exposed / communication, "slowdown": 1.0,
            "key": {"workload": "ddp", "model": "resnet50", "compute": "sleep", "settings": "scale=small", "way": method,
                    "nranks": 2},
            "step_ns": times(compute + exposed), "ci95_step_ns": [round((compute + exposed) * 1e6)] * 2,
            "compute_ns": times(compute), "communication_ns": times(communication), "exposed_ns": times(exposed),
            "wait_ns": times(0.1), "work_ns": times(communication), "check": {"state": "ok", "n_wrong": 0}} | changes


class Steps(Folder):
    def steps(self, *methods):
        results = records.read([self.lines(*methods)])
        from plots import steps
        return steps.steps_of(results)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_one_shape_is_one_section_and_its_finding_compares_with_the_library(self):
        from plots import steps
        one, = self.steps(step("ring/shm", 1.0), step("mpi", 4.0), step("mpi-nonblocking", 5.0),
                          step("bruck/shm", 0, skipped="no such algorithm"))
        self.assertEqual([method.name for method in one.methods()], ["ring/shm", "mpi", "mpi-nonblocking"])
        self.assertEqual(steps.finding(one), "ring/shm leaves 1 ms of a step of 21 ms exposed; the library at best (mpi) "
                                             "4 ms: 0.25 of it")
        self.assertAlmostEqual(one.methods()[0].hidden, 4e6)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_hidden_communication_is_never_more_than_computing_nor_less_than_nothing(self):
        quick, = self.steps(step("ring/shm", -1.0, compute=2.0))
        self.assertEqual(quick.methods()[0].hidden, 2e6)
        slow, = self.steps(step("ring/shm", 9.0))
        self.assertEqual(slow.methods()[0].hidden, 0)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_a_file_of_only_steps_is_a_page(self):
        source = self.lines(step("ring/shm", 1.0), step("mpi", 4.0), step("bruck/shm", 0, skipped="no such algorithm"))
        out = self.folder / "report.html"
        done = run(source, "-o", out, "--svg-dir", self.folder / "svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        html = out.read_text(encoding="utf-8")
        for text in ("ddp: resnet50", "communication exposed", "[mpi]", "skipped: no such algorithm", "scale=small"):
            self.assertIn(text, html)
        self.assertEqual(len(list((self.folder / "svg").glob("step-*.svg"))), 1)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_shapes_of_one_workload_stand_together(self):
        def of(workload, model):
            made = step("ring/shm", 1.0)
            made["key"] |= {"workload": workload, "model": model}
            return made
        out = self.folder / "report.html"
        done = run(self.lines(of("novel", "gpt2"), of("ddp", "gpt2"), of("zero", "gpt2"), of("ddp", "vgg16")), "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        html = out.read_text(encoding="utf-8")
        places = [html.index(text) for text in ("<h3>ddp: gpt2", "<h3>ddp: vgg16", "<h3>zero: gpt2", "<h3>novel: gpt2")]
        self.assertEqual(places, sorted(places))

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_a_librarys_method_is_known_wherever_it_stands(self):
        from plots import steps
        for method in ("mpi", "mpi-nonblocking+bf16", "all-reduce mpi", "nccl"):
            self.assertTrue(steps.is_library(method), method)
        for method in ("ring/mpi", "auto, every step", "1 server sync"):
            self.assertFalse(steps.is_library(method), method)

    @unittest.skipUnless(matplotlib, "needs python3-matplotlib")
    def test_overlap_is_shown_only_where_communication_is_more_than_noise(self):
        from plots import steps
        of_quick = step("ring/shm", 0.2, communication=0.1, ci95_step_ns=[20_000_000, 20_400_000])
        place = steps.COLUMNS.index("overlap")
        self.assertEqual(steps._row(of_quick)[place], "-")
        self.assertEqual(steps._row(step("ring/shm", 1.0))[place], "0.80")

    def test_a_step_without_its_fields_is_refused_with_its_line(self):
        broken = step("ring/shm", 1.0)
        del broken["exposed_ns"]
        done = run(self.lines(step("mpi", 1.0), broken), "-o", self.folder / "r.html")
        self.assertEqual(done.returncode, 64)
        self.assertIn(':2: no field "exposed_ns"', done.stderr)


@unittest.skipUnless(matplotlib, "needs python3-matplotlib")
class Page(Folder):
    def report(self, source, *options):
        out = self.folder / "report.html"
        done = run(source, "-o", out, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out.read_text(encoding="utf-8")

    def test_holds_a_section_with_figures_and_a_table_for_each_shape(self):
        source = synthetic.write(self.folder / "r.jsonl", **SMALL | {"collectives": ("all_reduce", "broadcast")},
                                 inplace=(False, True))
        html = self.report(source, "-T", "My machine")
        self.assertIn("<h1>My machine</h1>", html)
        self.assertEqual(html.count("<section "), 4)
        self.assertEqual(html.count("<svg "), 16)
        self.assertEqual(html.count("<details>"), 4)
        for text in ("AMD EPYC 7B13", "6.1.0-18-amd64", "Open MPI 4.1.4", "--algo all", "2026-01-31 12:00:00 UTC"):
            self.assertIn(text, html)
        elsewhere = re.findall(r'(?:src|href|url)[=(]["\']?(?!#)[^"\')]+', html)
        self.assertEqual(elsewhere, [])

    def test_is_the_same_to_the_byte_when_made_again(self):
        source = synthetic.write(self.folder / "r.jsonl", **SMALL)
        self.assertTrue(self.report(source) == self.report(source))

    def test_shows_names_as_text_and_never_as_markup(self):
        evil = "<script>alert('$x$')</script>"
        point = timed(evil, 8, 100)
        skipped = timed(evil, 64, 100, skipped=f"no {evil}")
        html = self.report(self.lines(point, skipped), "-T", evil)
        self.assertFalse("<script" in html)
        self.assertEqual(html.count("&lt;script&gt;alert(") > 5, True)
        self.assertTrue("$x$" in html)

    def test_marks_a_single_launch_as_exploratory(self):
        one = self.report(synthetic.write(self.folder / "one.jsonl", **SMALL))
        self.assertIn("Exploratory (one launch)", one)
        five = self.report(synthetic.write(self.folder / "five.jsonl", **SMALL, launches=5))
        self.assertNotIn("Exploratory", five)

    def test_draws_the_limit_of_the_machine_and_gives_the_share_of_it(self):
        points = [timed(algo, size, 4 * size, **{"limit_ns": 3.0 * size, "pct_of_limit": 75.0})
                  for algo in ("ring", "tree") for size in (8, 64)]
        html = self.report(self.lines(*points))
        self.assertEqual(html.count(">limit of this machine<"), 2)  # in the plots of latency and of bandwidth
        self.assertIn("% of limit</th>", html)
        self.assertEqual(html.count("<td class=number>75</td>"), 4)

    def test_has_no_limit_where_none_is_known(self):
        self.assertNotIn("limit of this machine<", self.report(self.lines(timed("ring", 8, 100))))

    def test_lists_skipped_points_and_failures_with_their_reasons(self):
        fail = {"v": 1, "kind": "fail", "launch": 1, "phase": "measure", "what": "timeout", "rank": 3}
        html = self.report(self.lines(timed("ring", 8, 100), timed("tree", 8, 1, skipped="6 ranks given"), fail))
        self.assertIn("skipped: 6 ranks given", html)
        self.assertIn("<td>timeout</td><td>3</td>", html)

    def test_survives_points_without_anything_to_draw(self):
        self.report(self.lines(timed("tree", 8, 1, skipped="no time")))
        self.report(self.lines(timed("tree", 8, 1, **{"busbw_GBps": 0})))
        self.report(self.lines(timed("tree", 0, 0)))

    def test_writes_each_figure_as_a_file_that_is_well_formed(self):
        source = synthetic.write(self.folder / "r.jsonl", **SMALL)
        self.report(source, "--svg-dir", self.folder / "svg")
        files = sorted((self.folder / "svg").iterdir())
        self.assertEqual([path.stem.rsplit("-", 1)[1] for path in files],
                         ["bandwidth", "heatmap", "latency", "spread"])
        ids = [re.findall(r' id="([^"]+)"', path.read_text(encoding="utf-8")) for path in files]
        self.assertEqual(sum(map(len, ids)), len(set(sum(ids, []))))  # may all stand on one page
        for path in files:
            xml.dom.minidom.parse(str(path))


class Refusal(Folder):
    def refused(self, text, *expected):
        done = run(self.file(text), "-o", self.folder / "out.html")
        self.assertEqual(done.returncode, 64)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in expected:
            self.assertIn(part, done.stderr)

    def test_of_broken_input_is_one_line_with_file_and_line(self):
        good = json.dumps(timed("ring", 8, 100)) + "\n"
        self.refused("", "is empty")
        self.refused("size,count\n", "r.jsonl:1: not JSON")
        self.refused("no end of line", "r.jsonl:1: not JSON")
        self.refused(good + '{"v":1,\n' + good, "r.jsonl:2: not JSON")
        self.refused(good + '{"v":2,"kind":"end"}\n', "r.jsonl:2: written in schema version 2", "reads version 1")
        self.refused('{"kind":"point"}\n', 'no "v"')
        self.refused('{"v":1,"kind":"point","launch":1,"key":{}}\n', 'no field "key.coll"')
        self.refused('{"v":1,"kind":"unknown"}\n', "no point in it")

    def test_of_wrong_types_is_one_line(self):
        for changes in ({"n": "3"}, {"ci95_p50_ns": [1]}, {"launch": None}, {"t_ns": []}, {"busbw_GBps": True}):
            self.refused(json.dumps(timed("ring", 8, 100) | changes) + "\n", "r.jsonl:1: field")

    def test_on_a_full_disk_names_the_file(self):
        done = run(synthetic.write(self.folder / "r.jsonl", **SMALL), "-o", "/dev/full")
        self.assertEqual(done.returncode, 64)
        self.assertIn("cannot write '/dev/full': No space left on device", done.stderr)

    def test_of_an_absent_file_and_of_wrong_usage_is_one_line(self):
        for arguments in (["absent.jsonl", "-o", "x.html"], ["-o", "x.html"], ["a.jsonl"]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)

    def test_spares_a_file_with_a_torn_last_line(self):
        text = json.dumps(timed("ring", 8, 100)) + "\n" + '{"v":1,"kind":"po'
        results = records.read([self.file(text)])
        self.assertEqual(len(results.points), 1)
        self.assertIn("r.jsonl:2", results.warnings[0])


class Finding(Folder):
    def finding(self, *points):
        return findings.finding(sections.sections_of(records.read([self.lines(*points)]))[0])

    def test_names_who_is_fastest_where(self):
        self.assertEqual(
            self.finding(timed("tree", 8, 100, 1), timed("ring", 8, 200, 1), timed("tree", 1024, 900, 1),
                      timed("ring", 1024, 300, 1)),
            "tree over shm is the fastest at 8 B; ring over shm is the fastest at 1K.")

    def test_calls_no_one_fastest_when_intervals_overlap(self):
        self.assertEqual(
            self.finding(timed("tree", 8, 100, 10), timed("ring", 8, 105, 10)),
            "tree over shm is among the fastest at 8 B, not separable from ring over shm.")

    def test_makes_no_comparison_of_one(self):
        self.assertEqual(self.finding(timed("tree", 8, 100)), "tree over shm was measured alone.")

    def test_says_where_the_library_loses_most(self):
        found = self.finding(*(point for size, slow in ((8, 150), (1024, 210), (4096, 120)) for point in
                           (timed("ring", size, 100, 1), timed("mpi", size, slow, 1, impl="mpi"))))
        self.assertEqual(found, "ring over shm is the fastest at all 3 sizes; the library's own MPI_Allreduce "
                               "takes 2.10x as long as the fastest at 1K.")

    def test_says_when_the_library_wins(self):
        found = self.finding(timed("ring", 8, 100, 1), timed("mpi", 8, 50, 1, impl="mpi"))
        self.assertTrue(found.startswith("The library's own MPI_Allreduce is the fastest at 8 B"), found)

    def test_leaves_wrong_results_out_and_says_so(self):
        wrong = timed("cheat", 8, 1, check={"state": "fail", "n_wrong": 7})
        self.assertEqual(self.finding(wrong, timed("ring", 8, 100), timed("tree", 8, 200)),
                         "ring over shm is the fastest at 8 B; left out for WRONG RESULTS: 1 point.")

    def test_takes_the_median_over_launches_and_its_spread(self):
        points = [timed("ring", 8, 100 + launch, 1, launch=launch) for launch in range(3)]
        section = sections.sections_of(records.read([self.lines(*points)]))[0]
        cell = section.cell(section.candidates[0], 8)
        self.assertEqual((cell.p50, cell.lo, cell.hi, cell.launches), (101, 100, 102, 3))

    def test_distinguishes_variants_of_an_algorithm(self):
        variants = ({}, {"radix": 4}, {"channels": 2}, {"radix": 4, "channels": 2}, {"seg": 65536}, {"seg": 16384})
        points = []
        for variant in variants:
            points.append(timed("tree", 8, 100))
            points[-1]["key"] |= variant
        candidates = sections.sections_of(records.read([self.lines(*points)]))[0].candidates
        self.assertEqual(sorted(candidate.label for candidate in candidates),
                         ["tree · shm", "tree · shm (16K segments)", "tree · shm (2 channels)",
                          "tree · shm (64K segments)", "tree · shm (radix 4)", "tree · shm (radix 4, 2 channels)"])
        look = style.Look(candidates)
        self.assertEqual(len({look.line(candidate)["marker"] for candidate in candidates}), len(variants))
        self.assertEqual({look.colour(candidate) for candidate in candidates}, {style.KNOWN["tree"]})

    def test_takes_the_limit_of_each_kind_of_memory(self):
        points = []
        for buf, limit in (("host", 50.0), ("registered", 20.0)):
            for launch, noise in ((1, 0), (2, 2), (3, None)):
                point = timed("ring", 8, 100, launch=launch)
                point["key"] |= {"buf": buf}
                points.append(point | ({} if noise is None else {"limit_ns": limit + noise}))
        section = sections.sections_of(records.read([self.lines(*points)]))[0]
        self.assertEqual(section.limits(), {"host": [(8, 51.0, 8 / 51)], "registered": [(8, 21.0, 8 / 21)]})

    def test_interval_over_many_launches_is_made_of_order_statistics(self):
        # lo = floor((20 - 8.77) / 2) = 5, hi = ceil(1 + (20 + 8.77) / 2) = 16
        self.assertEqual(sections.launch_interval(list(range(1, 21))), (5, 16))


if __name__ == "__main__":
    unittest.main()
