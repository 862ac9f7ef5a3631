# SPDX-License-Identifier: Apache-2.0
"""Figures as files, with their data and commands, and a paper's artifact."""

import csv
import json
import re
import subprocess
import sys
import unittest
import xml.dom.minidom

from report_files import SCRIPTS, SMALL, ReportFiles, launch_of, library, needs_matplotlib, run, step, timed, with_key
import synthetic  # found through report_files
from plots import records

EVIL = "a'; touch $(id) `id`\nb"


def rows_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@needs_matplotlib
class Files(ReportFiles):
    def figures(self, source, *options):
        folder = self.folder / "figures"
        done = run(source, "--figures", folder, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return folder

    def small(self):
        return synthetic.write(self.folder / "r.jsonl", **SMALL)

    def test_are_written_with_their_data_and_the_commands_that_made_them(self):
        folder = self.figures(self.small())
        names = sorted(path.stem for path in folder.glob("*.svg"))
        self.assertEqual([name.rsplit("-", 1)[1] for name in names], ["decisions", "bandwidth", "heatmap", "latency", "ratio", "spread"])
        for name in names:
            rows = rows_of(folder / f"{name}.csv")
            self.assertGreater(len(rows), 1, name)
            words = (folder / f"{name}.txt").read_text(encoding="utf-8")
            self.assertIn("tutti report ../r.jsonl --figures . ", words)
            self.assertIn("mpirun -n 4 tutti bench all -b 8 -e 2M --algo all", words)
            self.assertIn("! one launch", words)

    def test_data_is_that_of_the_records(self):
        source = self.lines(timed("ring", 4096, 1000, 10), library(4096, 2000, 20))
        folder = self.figures(source, "--only", "latency,ratio")
        latency, = folder.glob("*-latency.csv")
        self.assertEqual([list(row.values()) for row in rows_of(latency)], [["ring · shm", "4096", "1", "0.99", "1.01", "1", ""],
                                                                            ["[mpi]", "4096", "2", "1.98", "2.02", "1", ""]])
        self.assertEqual({path.stem.rsplit("-", 1)[1] for path in folder.glob("*.svg")}, {"latency", "ratio"})

    def test_data_has_the_value_of_each_column(self):
        """No two values of a row are the same, so that a swap of columns is seen."""
        def point(make, launch, p50, half, *algo):
            return make(*algo, 4096, p50, half, launch, t_ns={"p05": p50 - 100, "p50": p50, "p95": p50 + 300, "max": p50 + 400})
        folder = self.figures(self.lines(point(timed, 1, 1000, 10, "ring"), point(timed, 2, 1100, 30, "ring"), point(library, 1, 2000, 40),
                                         point(library, 2, 2090, 50), step("ring/shm", 1.0, half=0.5, n=10), step("mpi", 4.0, 21.0, 6.0, 0.25)))
        tables = {path.stem.rsplit("-", 1)[1]: rows_of(path) for path in folder.glob("*.csv")}

        def check(kind, place, ends, **expected):
            row = tables[kind][place]
            low, middle, high = (float(row[name]) for name in ends)
            self.assertTrue(low < middle < high, (kind, row))
            self.assertEqual({name: row[name] for name in row if name not in (ends[0], ends[2])}, expected, kind)
        check("spread", 1, ("low_ns", "median_ns", "high_ns"), candidate="ring · shm", bytes="4096", launch="2", median_ns="1100", p05_ns="1000",
              p95_ns="1400")
        check("heatmap", 1, ("low", "over_best", "high"), candidate="[mpi]", bytes="4096", time_ns="2045", over_best="1.94936", tied_with_best="False")
        check("decisions", 0, ("low", "gain", "high"), row="all_reduce", bytes="4096", winner="ring · shm", library="[mpi]", gain="1.94936",
              launches="2", significant="True")
        check("ratio", 0, ("low", "value", "high"), candidate="ring · shm", x="4096", value="1.94936", launches="2", mark="")
        check("bars", 1, ("low_ns", "step_ns", "high_ns"), method="[mpi]", step_ns="25000000", compute_ns="21000000", communication_ns="6000000",
              hidden_ns="2000000", exposed_ns="4000000", launches="1", tied="False")

    def test_of_a_comparison_have_a_bar_for_each_metric_and_the_command(self):
        import figure_samples
        source = self.lines(*figure_samples.compared())
        folder = self.figures(source, "-o", self.folder / "page.html")
        path, = folder.glob("*.csv")
        self.assertTrue(path.stem.endswith("-comparison"))
        rows = rows_of(path)
        self.assertEqual([row["verdict"] for row in rows], ["slower", "undecided", "same", "faster"])
        self.assertEqual({name: rows[3][name] for name in ("metric", "a", "unit", "ratio", "low", "high", "launches")},
                         {"metric": "bandwidth", "a": "18.3", "unit": "GB/s", "ratio": "1.07", "low": "1.05", "high": "1.09", "launches": "8"})
        self.assertIn("\n    tutti compare --program-a './step old'", path.with_suffix(".txt").read_text(encoding="utf-8"))
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        self.assertEqual((page.count("<svg "), page.count('id="comparisons"'), page.count("<aside")), (1, 1, 0))

    def test_come_in_the_formats_that_are_asked_for_the_same_to_the_byte(self):
        source = self.lines(timed("ring", 8, 100), library(8, 200))
        folder = self.figures(source, "--format", "svg,pdf,png", "--only", "ratio")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.assertEqual({path.suffix for path in folder.iterdir()}, {".svg", ".pdf", ".png", ".csv", ".txt"})
        for suffix, head in ((".pdf", b"%PDF"), (".png", b"\x89PNG"), (".svg", b"<?xml")):
            path, = folder.glob(f"*{suffix}")
            self.assertTrue(path.read_bytes().startswith(head))
        self.figures(source, "--format", "svg,pdf,png", "--only", "ratio")
        self.assertTrue(before == {path.name: path.read_bytes() for path in folder.iterdir()})

    def test_are_well_formed_and_may_stand_on_one_page(self):
        files = sorted(self.figures(self.small()).glob("*.svg"))
        ids = [re.findall(r' id="([^"]+)"', path.read_text(encoding="utf-8")) for path in files]
        self.assertEqual(sum(map(len, ids)), len(set(sum(ids, []))))
        for path in files:
            xml.dom.minidom.parse(str(path))

    def test_of_hostile_names_are_well_formed_and_text(self):
        evil = "</text><script>alert('$x$\"&')</script>"
        folder = self.figures(self.lines(timed(evil, 8, 100), timed("ring", 8, 300), timed(f"={evil}", 8, 400), library(8, 200)))
        for path in folder.glob("*.svg"):
            xml.dom.minidom.parse(str(path))
            self.assertNotIn("<script", path.read_text(encoding="utf-8"))
        data, = folder.glob("*-latency.csv")
        self.assertTrue(any(row["candidate"].startswith("'=") for row in rows_of(data)))  # no formula

    def test_in_paper_style_fit_a_column_and_have_no_title(self):
        folder = self.figures(self.small(), "--style", "paper", "--only", "ratio,decisions")
        column, = folder.glob("*-ratio.svg")
        text = column.read_text(encoding="utf-8")
        self.assertIn(f'width="{3.5 * 72:g}pt"', text)
        self.assertNotIn(">Speed-up over", text.split("</title>")[1])
        self.assertIn("MPI_Allreduce<", text.split("</title>")[1])  # the axis says over what
        self.assertGreaterEqual(min(float(size) for size in re.findall(r"font(?:-size)?: (?:700 )?([\d.]+)px", text)), 6)
        wide, = folder.glob("*-decisions.svg")
        self.assertIn(f'width="{7.16 * 72:g}', wide.read_text(encoding="utf-8"))

    def test_that_no_figure_has_in_its_name_is_refused(self):
        done = run(self.lines(timed("ring", 8, 100), library(8, 200)), "--figures", self.folder / "figures", "--only", "latencyy,x")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1))
        self.assertIn("'latencyy' or 'x'", done.stderr)
        self.assertIn(" all-decisions, all-reduce-4-4-float-sum-out-", done.stderr)

    def test_keep_their_names_where_only_some_are_drawn(self):
        source = self.lines(*(with_key(step("ring/shm", 1.0), settings=settings) for settings in ("\u00e9", "\u00e8")))
        second = max((path.stem for path in self.figures(source).glob("*.svg")), key=len)
        run(source, "--figures", self.folder / "second", "--only", second)
        self.assertEqual([path.stem for path in (self.folder / "second").glob("*.svg")], [second])

    def test_never_overwrite_each_other(self):
        steps = []
        for settings in ("x" * 200 + "1", "x" * 200 + "2", "\u00e9", "\u00e8"):
            steps.append(with_key(step("ring/shm", 1.0), settings=settings))
        self.assertEqual(len(list(self.figures(self.lines(*steps)).glob("*.svg"))), 4)

    def test_shares_begin_at_zero(self):
        from plots import figures, style
        source = self.small()
        report = figures.report_of(records.read([source]))
        canvas = style.Canvas(report.palette())
        with style.settings():
            for drawing in report.drawings():
                if drawing.kind == "limit":
                    self.assertEqual(drawing.draw(canvas).axes[0].get_ylim()[0], 0, drawing.name)

    def test_draw_model_and_network_bytes_where_records_have_them(self):
        points = [timed("ring", size, 1000, 10, predicted_ns=900.0, wire={"host": 0, "tx_bytes_per_call": 2.0 * size, "rx_bytes_per_call": 1.0})
                  for size in (8, 64)]
        folder = self.figures(self.lines(*points, library(8, 200)))
        model, = folder.glob("*-model.csv")
        network, = folder.glob("*-network.csv")
        self.assertEqual([row["value"] for row in rows_of(model)], ["0.9", "0.9"])
        self.assertEqual([row["value"] for row in rows_of(network)], ["2", "2"])

    def test_draw_the_time_by_level_of_the_fastest_algorithm_of_each_size(self):
        def levels(inside, between):
            return [{"within": "numa", "bytes": 512, "messages": 4, "ns": inside}, {"within": "host", "bytes": 256, "messages": 2, "ns": 0},
                    {"bytes": 128, "messages": 1, "ns": between}]
        source = self.lines(timed("levels", 8, 1000, levels=levels(200, 600)), timed("ring", 8, 2000, levels=levels(0, 2000)), library(8, 500),
                            timed("ring", 64, 900))
        data, = self.figures(source).glob("*-levels.csv")
        rows = rows_of(data)
        self.assertEqual([row["level"] for row in rows], 2 * ["inside NUMA nodes", "inside hosts", "between hosts"])
        self.assertEqual([row["share"] for row in rows if row["candidate"] == "levels · shm"], ["0.25", "0", "0.75"])
        page = self.report(source)
        self.assertIn("<td>inside NUMA nodes</td>" + "".join(f"<td class=number>{number}</td>" for number in (0.2, 25, 512, 4)), page)
        self.assertEqual(page.count("<td>between hosts</td>"), 1)  # only the fastest has rows
        self.assertNotIn("by level", self.report(self.lines(timed("ring", 8, 1000))))

    def test_draw_the_energy_of_a_call_only_where_records_have_it(self):
        def energies(*points):
            folder = self.figures(self.lines(*points, library(8, 200)))
            return sorted([row["value"] for row in rows_of(path)] for path in folder.glob("*energy.csv"))
        self.assertEqual(energies(timed("ring", 8, 1000)), [])
        self.assertEqual(energies(*(timed("ring", 8, 1000, launch=number, energy_J=joules, gpu_energy_J=0.5)
                                    for number, joules in enumerate((0.001, 0.002, 0.009), 1))), [["2"], ["500"]])

    def test_come_with_notes_of_all_that_they_show(self):
        points = [with_key(timed(algo, 8, 1000 + 500 * i, 300 * (algo == "ring")), inplace=inplace) for inplace in (False, True)
                  for i, algo in enumerate(("ring", "tree"))]
        folder = self.figures(self.lines(*points))
        words = {path.stem.rsplit("-", 1)[1]: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
        for kind in ("decisions", "latency"):
            self.assertIn("intervals: 1 of 2 medians ", words[kind])

    def test_of_a_paper_are_as_wide_as_the_help_says(self):
        said = " ".join(run("--help").stdout.split())
        self.assertRegex(said, r"3\.5 inches wide .* 7\.16\)")
        for path in self.figures(self.small(), "--style", "paper").glob("*.svg"):
            width = 7.16 if path.stem.rsplit("-", 1)[1] in ("decisions", "heatmap", "spread") else 3.5
            self.assertIn(f'width="{width * 72:g}', path.read_text(encoding="utf-8"), path.name)

    def test_without_anything_to_draw_are_left_out(self):
        # Only the slower one has a limit: axes without the best, or without anyone of those with colours, say nothing.
        folder = self.figures(self.lines(timed("ring", 8, 1000), timed("tree", 8, 2000, limit_ns=100.0),
                                         timed("ring", 64, 1000), timed("tree", 64, 2000, limit_ns=100.0)))
        self.assertEqual(list(folder.glob("*-limit.*")), [])
        self.assertEqual(len(list(folder.glob("*-latency.svg"))), 1)
        folder = self.figures(self.lines(*(timed(f"algorithm-{i}", 8, 1000 + i, wire={"host": 0, "tx_bytes_per_call": 8.0, "rx_bytes_per_call": 8.0}
                                                 if i > 8 else None) for i in range(12))))
        self.assertEqual(list(folder.glob("*-network.*")), [])

    def test_cross_out_what_beats_its_limit(self):
        folder = self.figures(self.lines(timed("ring", 8, 1000, limit_ns=1780.0), timed("ring", 64, 1000, limit_ns=500.0)))
        limit, = folder.glob("*-limit.csv")
        self.assertEqual([(row["value"], row["mark"]) for row in rows_of(limit)],
                         [("100", "lower bound invalid"), ("50", "")])


@needs_matplotlib
class Artifact(ReportFiles):
    def artifact(self, *records_):
        folder = self.folder / "artifact"
        done = run(self.lines(*records_), "--artifact", folder, "--only", "latency")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return folder

    def test_has_the_text_the_data_and_a_script_for_each_figure(self):
        session = synthetic.session() | {"argv": ["build/tutti", "bench", "all_reduce", "--json", "old.jsonl", "-b", "8"]}
        folder = self.artifact(session, launch_of(), timed("ring", 8, 100, session="s"), library(8, 200, session="s"))
        text = (folder / "README.md").read_text(encoding="utf-8")
        for words in ("AMD EPYC 7B13", "Open MPI 4.1.4", "git checkout f723474", "mpirun -n 4 build/tutti bench all_reduce --json old.jsonl"):
            self.assertIn(words, text)
        self.assertEqual((folder / "data/r.jsonl").read_bytes(), (self.folder / "r.jsonl").read_bytes())
        script, = folder.glob("reproduce-*.sh")
        self.assertIn(f"`{script.name}`", text)
        self.assertIn('$mpirun -n 4 "$tutti" bench all_reduce -b 8 --json measured/', script.read_text(encoding="utf-8"))
        self.assertEqual(subprocess.run(["bash", "-n", script], check=False).returncode, 0)

    def test_counts_the_records_and_launches_of_comparisons(self):
        verdict = {"v": 1, "kind": "verdict", "session": "s", "verdict": "slower", "ratio": 1.5, "low": 1.4, "high": 1.6, "confidence": 0.98, "a_ns": 10.0,
                   "b_ns": 15.0}
        file = self.lines(synthetic.session(), *[verdict | {"metric": metric, "n_launch": launches} for metric, launches in (("m", 7), ("n", 12))])
        folder = self.folder / "artifact"
        done = run(file, "--artifact", folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (folder / "README.md").read_text(encoding="utf-8")
        for key in (" 2 records ", " 12 launches"):
            self.assertIn(key, text)

    def test_draws_its_figure_by_its_script(self):
        folder = self.artifact(synthetic.session(), launch_of(), timed("ring", 8, 100, session="s"), library(8, 200, session="s"))
        tutti = self.folder / "tutti"
        tutti.write_text('#!/bin/sh\nshift\nprintf "%s\\n" "$@" > words\n', encoding="utf-8")
        tutti.chmod(0o755)
        script, = folder.glob("reproduce-*.sh")
        self.assertEqual(subprocess.run(["bash", script], env={"PATH": "/usr/bin:/bin", "TUTTI": str(tutti)}, check=False).returncode, 0)
        words = (folder / "words").read_text(encoding="utf-8").split()
        self.assertEqual((words[0], words[-1]), ("data/r.jsonl", script.stem.removeprefix("reproduce-")))

    def test_draws_of_several_setups_and_of_some_records_the_same_figures_by_its_scripts(self):
        files = []
        for name, cores in (("a", 4), ("b", 8)):
            points = [timed(algo, size, 100 + size, session="s") for algo in ("ring", "tree") for size in (8, 64, 4096)]
            files.append(self.lines(synthetic.session(), launch_of(cores=cores), *points, library(8, 200, session="s"), name=f"{name}.jsonl"))
        folder = self.folder / "artifact"
        done = run(*files, "--artifact", folder, "--only", "latency", "--candidates", "ring,mpi", "--sizes", "0..8,4K..")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex((folder / "README.md").read_text(encoding="utf-8"), r"candidates ring, mpi .* 0\.\.8,4K\.\.")
        tutti = self.folder / "tutti"
        tutti.write_text(f'#!/bin/sh\nshift\nexec env TUTTI={records.command()} {sys.executable} -B {SCRIPTS / "report.py"} "$@"\n', encoding="utf-8")
        tutti.chmod(0o755)
        scripts = sorted(folder.glob("reproduce-*.sh"))
        self.assertEqual(len(scripts), 2)
        for script in scripts:
            name = script.stem.removeprefix("reproduce-")
            self.assertIn("setup", name)
            done = subprocess.run(["bash", script], env={"PATH": "/usr/bin:/bin", "TUTTI": str(tutti)}, check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = rows_of(folder / f"figures/{name}.csv")
            self.assertEqual({tuple(row.values())[:2] for row in rows}, {("ring · shm", "8"), ("ring · shm", "4096"), ("[mpi]", "8")})
            self.assertIn(f"only={re.sub('-setup-[AB]', '', name)}\n", script.read_text(encoding="utf-8"))

    def test_runs_nothing_that_is_written_in_the_records(self):
        session = synthetic.session() | {"argv": ["tutti", "bench", EVIL]}
        launch = launch_of(env={"OMPI_MCA_x": EVIL, "BAD;touch x": "1"}, nranks=2)
        launch["hosts"][0]["cpu_model"] = EVIL
        folder = self.artifact(session, launch, timed(EVIL, 8, 100, session="s"), library(8, 200, session="s"))
        seen = self.folder / "seen"
        tutti = self.folder / "tutti"
        tutti.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {json.dumps(str(seen))}\n', encoding="utf-8")
        tutti.chmod(0o755)
        script, = folder.glob("reproduce-*.sh")
        environment = {"PATH": "/usr/bin:/bin", "TUTTI": str(tutti), "MPIRUN": "env -u nothing nice"}
        subprocess.run(["bash", script, "--measure"], env=environment, check=False, capture_output=True)
        self.assertEqual(subprocess.run(["bash", "-n", script], check=False).returncode, 0)
        self.assertIn("a'; touch $(id) `id` b", seen.read_text(encoding="utf-8"))
        self.assertEqual(sorted(path.name for path in folder.iterdir() if "reproduce" not in path.name), ["README.md", "data", "measured"])
        self.assertNotIn("BAD;touch", script.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
