# SPDX-License-Identifier: Apache-2.0
"""The options that decide how figures look, names that readers give, and drawing in several processes."""

import os
import re
import struct
import subprocess
import unittest

from report_files import Drawn, ReportFiles, launch_of, legend_of, library, needs_matplotlib, run, step, timed, with_key
import synthetic  # found through report_files
from plots import naming, options, parallel, records

MANY = ("ring", "halving-doubling", "two-level-butterfly", "double-tree", "one-shot", "round-robin", "circulant")


def chosen(*words):
    return options.parse(["r.jsonl", "--figures", "f", *words])


def sweep():
    """Seven candidates with long names at two sizes, each with a sign."""
    return [point for place, algo in enumerate(MANY) for size in (8, 64) for point in (
        with_key(timed(algo, size, 1000 * (place + 1), 10 * place), transport="ucx" if place % 2 else "shm"), library(size, 3000, 10))]


def machine(name, cpu, nranks, *points):
    """A file of one launch on this machine, whose settings differ with the number of ranks."""
    launch = launch_of(nranks=nranks, env={"OMPI_MCA_rmaps": f"{cpu}{nranks}"})
    launch["hosts"][0]["cpu_model"] = cpu
    return [synthetic.session(), launch, *(with_key(point | {"session": "s"}, nranks=nranks, ppn=nranks) for point in points)]


@needs_matplotlib
class Sizes(ReportFiles):
    def figure(self, *words, kind="ratio", form="svg"):
        folder = self.folder / "figures"
        done = run(self.lines(timed("ring", 8, 100), library(8, 200)), "--figures", folder, "--only", kind, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path, = folder.glob(f"*-{kind}.{form}")
        return path

    def points(self, *words, kind="ratio"):
        return tuple(map(float, (re.search(rf' {name}="([\d.]+)pt"', self.figure(*words, kind=kind).read_text(encoding="utf-8"))[1]
                                 for name in ("width", "height"))))

    def test_are_those_asked_for_of_every_kind(self):
        for kind in ("ratio", "decisions", "heatmap", "spread"):
            self.assertEqual(self.points("--width", "5in", "--height", "2.5in", kind=kind), (360, 180), kind)
            self.assertEqual([self.points("--style", "paper", "--columns", columns, kind=kind)[0] for columns in "12"], [252, 515.52], kind)

    def test_of_png_files_follow_from_the_dots_per_inch(self):
        data = self.figure("--width", "127mm", "--height", "1.5in", "--dpi", "200", "--format", "png", form="png").read_bytes()
        self.assertEqual(struct.unpack(">II", data[16:24]), (1000, 300))

    def test_that_are_no_lengths_are_refused(self):
        source = self.lines(timed("ring", 8, 100))
        for words in (["--width", "wide"], ["--width", "3furlongs"], ["--width", "1mm"], ["--height", "-2"], ["--dpi", "0"], ["--dpi", "x"],
                      ["--columns", "3"], ["--columns", "1", "--width", "3in"], ["--legend", "above"], ["--rename", "ring"], ["--rename", "=x"]):
            done = run(source, "--figures", self.folder / "figures", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)

    def test_that_leave_no_room_for_the_axes_are_refused(self):
        done = run(self.lines(timed("ring", 8, 100), library(8, 200)), "--figures", self.folder / "figures", "--height", "0.8in")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)

    def test_font_is_the_one_asked_for_or_refused_if_it_is_not_installed(self):
        self.assertIn("DejaVu Serif", self.figure("--font", "DejaVu Serif").read_text(encoding="utf-8"))
        done = run(self.lines(timed("ring", 8, 100)), "--figures", self.folder / "figures", "--font", "Dejavu Sorif")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1))
        self.assertIn("DejaVu Serif", done.stderr)


@needs_matplotlib
class Legends(Drawn):
    def figure(self, points, *words, kind="ratio"):
        from plots import figures, style
        report = figures.report_of(records.read([self.lines(*points)]))
        drawing, = (drawing for drawing in report.drawings() if drawing.kind == kind)
        look = style.chosen(chosen(*words))
        with style.settings(look):
            return drawing.draw(style.Canvas(report.palette(), look))

    def box(self, figure):
        legends = figure.legends or [figure.axes[0].get_legend()]
        return legends[0].get_window_extent()

    def test_stay_inside_their_figure_and_leave_the_axes_more_than_half(self):
        for place in ("below", "right", "auto"):
            for words in (["--style", "screen"], ["--style", "paper"], ["--style", "paper", "--columns", "2"], ["--width", "2.5in"],
                          ["--style", "paper", "--height", "2.2in", "--columns", "2"]):
                figure = self.figure(sweep(), "--legend", place, *words)
                box, axes = self.box(figure), figure.axes[0].bbox
                self.assertTrue(0 <= box.x0 and box.x1 <= figure.bbox.x1 and 0 <= box.y0 and box.y1 <= figure.bbox.y1, (place, words, box))
                self.assertLessEqual(box.height if place != "right" else box.width, 0.51 * (figure.bbox.height if place != "right" else figure.bbox.width),
                                     (place, words))
                self.assertEqual(box.count_overlaps([axes]), 0, (place, words))

    def test_are_where_they_are_asked_for(self):
        points = [timed("ring", 8, 1000, 10), timed("tree", 8, 1500, 10), library(8, 2000, 10)]
        below, right = (self.figure(points, "--legend", place) for place in ("below", "right"))
        self.assertLess(self.box(below).y1, below.axes[0].bbox.y0)
        self.assertGreater(self.box(right).x0, right.axes[0].bbox.x1)
        inside = self.figure(points, "--legend", "inside", "--style", "paper", "--columns", "2")
        self.assertEqual(inside.legends, [])
        self.assertEqual(self.box(inside).count_overlaps([inside.axes[0].bbox]), 1)
        none = self.figure(points, "--legend", "none")
        self.assertEqual((none.legends, none.axes[0].get_legend()), ([], None))

    def test_become_names_at_the_ends_of_curves_where_there_is_room(self):
        points = [timed(algo, size, time, 10) for algo, time in (("ring", 1000), ("tree", 1010), ("bruck", 1020)) for size in (8, 64)]
        points += [library(size, 2000, 10) for size in (8, 64)]
        figure = self.figure(points, "--style", "paper", "--columns", "2", kind="latency")
        axes, = figure.axes
        names = {text.get_text(): text.get_window_extent() for text in axes.texts}
        self.assertEqual(set(names), {"ring · shm", "tree · shm", "bruck · shm", "[mpi]"})
        boxes = list(names.values())
        for place, box in enumerate(boxes):
            self.assertEqual(box.count_overlaps(boxes[:place] + [axes.bbox]), 0)
            self.assertTrue(box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1)
        self.assertEqual(figure.legends, [])
        narrow = self.figure(sweep(), "--style", "paper", kind="latency")
        self.assertEqual(len(narrow.axes[0].texts), 0)
        self.assertIn("ring · shm", legend_of(narrow.axes[0]))

    def test_explain_the_numbers_after_the_names(self):
        points = [point for size in (8, 64) for point in (timed("ring", size, 1000, 10), library(size, 2000, 10))]
        for words in (["--style", "paper"], ["--style", "screen"]):
            texts = [text.get_text() for text in self.figure(points, *words).texts]
            self.assertTrue(any(text.startswith("×: ") for text in texts), texts)
        self.assertFalse(any(text.get_text().startswith("×: ") for text in self.figure(points, kind="latency").texts))

    def test_and_axes_are_alone_without_warnings(self):
        few = [timed(algo, 8, 1000 + i, 10, n=2) for i, algo in enumerate(("ring", "tree", "chain"))]
        points = [*few, timed("ring", 64, 1000, 10), library(64, 2000, 10)]
        for words, warned in ((["--style", "paper"], True), (["--style", "paper", "--no-warnings"], False)):
            figure = self.figure(points, *words, kind="latency")
            self.assertEqual(any(text.get_text().startswith("!") for text in figure.texts), warned)
            self.assertEqual(len(figure.axes[0].patches), warned)


@needs_matplotlib
class Multiples(Drawn):
    def drawing(self, *colls, kind="multiples-ratio", ranks=(2, 4)):
        from plots import figures
        points = [with_key(point, coll=coll, nranks=nranks, ppn=nranks) for coll in colls for nranks in ranks for size in (8, 4096)
                  for point in (timed("ring", size, 1000 * nranks, 10), timed("tree", size, 1500, 10), library(size, 3000, 10))]
        report = figures.report_of(records.read([self.lines(*points)]))
        self.report_ = report
        return next((drawing for drawing in report.drawings() if drawing.kind == kind), None)

    def test_have_equal_axes_for_each_collective_and_number_of_ranks_and_one_legend(self):
        from plots import style
        for words, columns in ((["--style", "paper"], 4), (["--style", "paper", "--columns", "1"], 2)):
            drawing, look = self.drawing("all_reduce", "broadcast"), style.chosen(chosen(*words))
            with style.settings(look):
                figure = drawing.draw(style.Canvas(self.report_.palette(), look))
            self.assertEqual([axes.get_title() for axes in figure.axes],
                             [f"{coll}, {ranks} ranks" for coll in ("all_reduce", "broadcast") for ranks in (2, 4)])
            self.assertEqual(len({round(axes.bbox.x0) for axes in figure.axes}), columns)
            self.assertEqual(len({axes.get_ylim() for axes in figure.axes}), 1)
            self.assertEqual(sorted(legend_of(figure.axes[0])), ["ring · shm", "tree · shm"])
            names = figure.texts + figure.legends
            boxes = [one.get_window_extent() for one in names] + [axes.bbox for axes in figure.axes]
            for place, box in enumerate(boxes):
                self.assertEqual(box.count_overlaps(boxes[:place]), 0)
                self.assertTrue(0 <= box.x0 and box.x1 <= figure.bbox.x1 and 0 <= box.y0 and box.y1 <= figure.bbox.y1)

    def test_have_the_data_of_all_axes_and_are_no_figures_of_the_page(self):
        drawing = self.drawing("all_reduce", "broadcast", kind="multiples-latency")
        self.assertEqual({row[0] for row in drawing.rows()}, {f"{coll}, {ranks} ranks" for coll in ("all_reduce", "broadcast") for ranks in (2, 4)})
        self.assertEqual(len(drawing.rows()), 4 * 3 * 2)
        self.assertNotIn(drawing, self.report_.on_page())

    def test_are_not_drawn_of_one_section(self):
        self.assertIsNone(self.drawing("all_reduce", ranks=(4,)))


@needs_matplotlib
class Given(ReportFiles):
    def results(self, *files, parts=(), setups=()):
        from plots import figures
        paths = [self.lines(*file, name=f"{number}.jsonl") for number, file in enumerate(files)]
        return figures.report_of(records.read(paths, names=naming.Names(dict(parts), dict(setups))))

    def names(self, **parts):
        report = self.results([timed("ring", 8, 100), with_key(timed("tree", 8, 150), transport="mpi"), library(8, 200)], parts=parts)
        return sorted(candidate.name for candidate in report.sections[0].candidates)

    def test_names_replace_those_of_algorithms_transports_libraries_and_whole_candidates(self):
        self.assertEqual(self.names(ring="Ring"), ["Ring · shm", "[mpi]", "tree · mpi"])
        self.assertEqual(self.names(shm="memory"), ["[mpi]", "ring · memory", "tree · mpi"])
        self.assertEqual(self.names(mpi="Open MPI"), ["[Open MPI]", "ring · shm", "tree · Open MPI"])
        self.assertEqual(self.names(**{"[mpi]": "MPI", "ring/shm": "Ours", "tree · mpi": "Tree"}), ["MPI", "Ours", "Tree"])

    def test_names_are_in_figures_tables_and_steps(self):
        source = self.lines(timed("ring", 4096, 1000, 10), library(4096, 2000, 20), step("ring/shm", 1.0), step("mpi", 4.0))
        folder = self.folder / "figures"
        html = self.report(source, "--figures", folder, "--rename", "ring=Kreis", "--rename", "ring/shm=Kreis im Speicher", "--rename", "[mpi]=MPI")
        self.assertIn("<b>Kreis im Speicher</b>", html)
        self.assertIn("speed-up over", html)
        self.assertIn(">MPI<", html)
        self.assertNotIn("MPI_Allreduce", html)
        for kind in ("ratio", "bars"):
            path, = folder.glob(f"*-{kind}.csv")
            self.assertIn("Kreis im Speicher", path.read_text(encoding="utf-8"))

    def test_names_of_what_is_not_there_or_of_two_candidates_are_refused(self):
        source = self.lines(timed("ring", 8, 100), with_key(timed("ring", 8, 150), transport="mpi"), library(8, 200))
        for words, said in ((["--rename", "rnig=Ring"], "ring/shm"), (["--machine-name", "A=x"], "one setup"),
                            (["--rename", "ring/shm=Ring", "--rename", "ring/mpi=Ring"], "'Ring'")):
            done = run(source, "--figures", self.folder / "figures", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
            self.assertIn(said, done.stderr)

    def two_machines(self, **given):
        points = timed("ring", 8, 100), library(8, 200)
        return self.results(*(machine(cpu, cpu, nranks, *points) for nranks in (2, 4) for cpu in ("Xeon", "EPYC")), **given)

    def test_letters_are_one_for_each_machine_and_explained_in_the_map(self):
        report = self.two_machines()
        self.assertEqual(sorted((section.shape.nranks, section.shape.setup.letter, section.shape.setup.facts) for section in report.sections),
                         [(ranks, letter, f"{cpu}, 4 cores") for ranks in (2, 4) for letter, cpu in (("A", "Xeon"), ("B", "EPYC"))])
        self.assertEqual(report.decisions.key.replace("\u00a0", " "), "A: Xeon, 4 cores · B: EPYC, 4 cores")
        self.assertEqual({row[0] for row in report.decisions.rows()}, {f"all_reduce, {ranks} ranks, {letter}" for ranks in (2, 4) for letter in "AB"})

    def test_names_of_setups_replace_their_letters_but_not_in_names_of_files(self):
        report = self.two_machines(setups={"B": "Fast one"})
        self.assertEqual({row[0] for row in report.decisions.rows()}, {f"all_reduce, {ranks} ranks, {name}" for ranks in (2, 4) for name in ("A", "Fast one")})
        self.assertEqual(report.decisions.key.replace("\u00a0", " "), "A: Xeon, 4 cores")
        self.assertEqual({drawing.name for drawing in report.drawings()}, {drawing.name for drawing in self.two_machines().drawings()})


@needs_matplotlib
class Scripts(ReportFiles):
    def test_of_an_artifact_repeat_the_options_of_its_figures(self):
        given = ["--legend=right", "--width=5in", "--rename=ring=My ring", "--no-warnings", "--sizes=8..64"]
        source = self.lines(timed("ring", 8, 100), library(8, 200))
        done = run(source, "--artifact", self.folder / "artifact", "--only", "ratio", *given)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        script, = (self.folder / "artifact").glob("*.sh")
        tutti = self.folder / "tutti"
        tutti.write_text('#!/bin/sh\nshift\nprintf "%s\\n" "$@" > words\n', encoding="utf-8")
        tutti.chmod(0o755)
        # Relative to the folder it is called in, which the script leaves.
        done = subprocess.run(["bash", script], cwd=self.folder, env={"PATH": "/usr/bin:/bin", "TUTTI": "./tutti"}, check=False)
        self.assertEqual(done.returncode, 0)
        words = (script.parent / "words").read_text(encoding="utf-8").splitlines()
        self.assertEqual(words[:3], ["data/r.jsonl", "--figures", "figures"])
        again = options.parse(["x", *words])
        self.assertEqual((again.legend, again.width, again.rename, again.no_warnings, again.sizes, again.style, again.format),
                         ("right", 5.0, [("ring", "My ring")], True, "8..64", "paper", ["pdf", "svg"]))

    def test_say_where_the_command_is_missing(self):
        run(self.lines(timed("ring", 8, 100), library(8, 200)), "--artifact", self.folder / "artifact", "--only", "ratio")
        script, = (self.folder / "artifact").glob("*.sh")
        done = subprocess.run(["bash", script], env={"PATH": "/usr/bin:/bin", "TUTTI": "absent"}, check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1))
        self.assertIn("'absent'", done.stderr)

    def test_call_the_command_by_the_name_of_the_suite_that_was_measured(self):
        session = synthetic.session() | {"argv": ["/old/all_reduce_perf", "-b", "8"]}
        run(self.lines(session, launch_of(), timed("ring", 8, 100, session="s"), library(8, 200, session="s")), "--artifact", self.folder / "artifact",
            "--only", "ratio")
        tutti = self.folder / "tutti"
        tutti.write_text('#!/bin/sh\necho "$0" >> ../seen\n', encoding="utf-8")
        tutti.chmod(0o755)
        script, = (self.folder / "artifact").glob("*.sh")
        subprocess.run(["bash", script, "--measure"], env={"PATH": "/usr/bin:/bin", "TUTTI": str(tutti), "MPIRUN": "nice"}, check=False)
        self.assertEqual((self.folder / "seen").read_text(encoding="utf-8").splitlines()[0], "./measured/all_reduce_perf")

    def test_command_of_a_figure_draws_it_again_in_its_folder(self):
        source = self.lines(timed("ring", 8, 100), timed("ring", 64, 100), library(8, 200))
        folder = self.folder / "figures"
        run(source, "--figures", folder, "--legend", "inside", "--columns", "2", "--only", "latency")
        text, = folder.glob("*.txt")
        words = re.search(r"^    tutti report (.*)$", text.read_text(encoding="utf-8"), flags=re.M)[1].split()
        before = text.with_suffix(".svg").read_bytes()
        text.with_suffix(".svg").unlink()
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(folder)
        self.assertEqual(run(*words).returncode, 0)
        self.assertTrue(text.with_suffix(".svg").read_bytes() == before)

    def test_draw_the_figure_of_this_name_alone(self):
        points = [with_key(one, coll=coll) for coll in ("all_reduce", "reduce") for one in (timed("ring", 8, 100), library(8, 200))]
        source, folder = self.lines(*points), self.folder / "figures"
        name = "reduce-4-4-float-sum-out-unregistered-latency"  # a part of all-reduce-...
        self.assertEqual(run(source, "--figures", folder, "--only", name).returncode, 0)
        self.assertEqual([path.stem for path in folder.glob("*.svg")], [name])


class Parallel(ReportFiles):
    def on_cores(self, count):
        before = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, sorted(before)[:count])

    def test_results_come_in_the_order_of_the_values(self):
        self.assertEqual(list(parallel.each(lambda value: value * value, range(7))), [value * value for value in range(7)])

    def test_work_is_done_in_other_processes_where_there_is_more_than_one_core(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one core")
        self.assertEqual(len(set(parallel.each(lambda _: os.getpid(), range(8))) - {os.getpid()}), min(8, len(os.sched_getaffinity(0))))
        self.on_cores(1)
        self.assertEqual(set(parallel.each(lambda _: os.getpid(), range(8))), {os.getpid()})

    def test_errors_are_those_of_the_work_and_a_killed_process_is_one(self):
        from tutti.lines import ResultsError

        def fail(value):
            if value == 2:
                raise ResultsError("two")
            return value
        found = parallel.each(fail, range(4))
        self.assertEqual([next(found), next(found)], [0, 1])
        self.assertRaisesRegex(ResultsError, "two", next, found)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertRaises(ResultsError, lambda: list(parallel.each(lambda value: os.kill(os.getpid(), 9), range(4))))

    def test_no_process_is_left_when_the_reader_has_enough(self):
        found = parallel.each(lambda value: (value, os.getpid()), range(100))
        _, worker = next(found)
        found.close()
        if worker != os.getpid():
            self.assertRaises(ProcessLookupError, os.kill, worker, 0)

    @needs_matplotlib
    def test_figures_are_the_same_on_one_core(self):
        source, made = synthetic.write(self.folder / "r.jsonl", collectives=("all_reduce",), sizes=(8, 64)), []
        for count in (2, 1):
            self.on_cores(count)
            folder = self.folder / f"{count}"
            self.assertEqual(run(source, "--figures", folder).returncode, 0)
            made.append({path.name: path.read_bytes() for path in folder.iterdir()})
        self.assertTrue(made[0] == made[1])


if __name__ == "__main__":
    unittest.main()
