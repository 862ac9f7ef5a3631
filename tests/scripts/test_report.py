# SPDX-License-Identifier: Apache-2.0
"""The page of a report, and what is refused."""

import json
import re
import unittest

from report_files import SMALL, ReportFiles, launch_of, library, needs_matplotlib, run, step, timed, with_key
import synthetic  # found through report_files
from plots import records, sections, summary


@needs_matplotlib
class Page(ReportFiles):
    def test_begins_with_trust_the_winners_the_map_and_the_way_on(self):
        for few in (SMALL, SMALL | {"collectives": synthetic.COLLECTIVES[:5], "sizes": synthetic.SIZES}):
            html = self.report(synthetic.write(self.folder / "r.jsonl", **few))
            places = [html.index(text) for text in ('<aside class="trust', 'id="answer"', 'id="all-decisions"', "<nav>", '<section id="all-reduce')]
            self.assertEqual(places, sorted(places))

    def test_has_one_row_for_each_collective_where_sizes_are_many_and_folds_the_rest(self):
        html = self.report(synthetic.write(self.folder / "r.jsonl", algorithms=("ring", "one-shot"), transports=("shm",),
                                           collectives=synthetic.COLLECTIVES[:5]), "--only", "decisions")
        answer = html[html.index('id="answer"'):html.index("</section>")]
        short, folded = answer.split("<details class=printed>")
        self.assertEqual((short.count("<tr><td>"), folded.count("<tr><td>")), (5, 5 * len(synthetic.SIZES)))
        self.assertIn("all 50 rows", folded)
        self.assertIn("details.printed::details-content { content-visibility: visible;", html[html.index("@media print"):])
        self.assertEqual(short.count('data-name="%\u00a0of\u00a0limit at 4K"'), 5)
        self.assertRegex(short, r'<b>2K: one-shot · shm</b></td><td class=faint[^>]*>\d\.\d\d \[')
        few = self.report(synthetic.write(self.folder / "r.jsonl", **SMALL))
        self.assertNotIn("<details", few[few.index('id="answer"'):few.index("</section>")])

    def test_says_in_one_row_for_each_collective_how_many_are_as_good_and_how_near_the_limit_the_best_is(self):
        sizes = [4 << i for i in range(10)] + [4096] + [8192 << i for i in range(10)]
        points = [point for size in sizes for point in (timed("ring", size, 1000, 100, limit_ns=500.0), timed("tree", size, 1001, 100), timed("chain", size, 1002, 100),
                                                        library(size, 3000, 1))]
        answer = summary.section_table(sections.sections_of(records.read([self.lines(*points)])))
        short = re.sub("<[^>]*>", "|", answer[:answer.index("<details")])
        self.assertEqual(short.count("ring · shm, statistically tied with 2 others"), 2)
        self.assertEqual(short.count("|50|"), 2)

    def test_says_over_the_factors_of_several_launches_what_they_are(self):
        for launches, is_said in ((1, False), (2, True)):
            points = [point for launch in range(launches) for point in (timed("ring", 8, 1000, 10, launch), library(8, 2000, 10, launch))]
            self.assertEqual("launches&#x27; ratios" in self.report(self.lines(*points), "--only", "latency"), is_said)

    def test_says_which_usual_size_was_not_measured(self):
        def caption(*sizes):
            html = self.report(self.lines(*(timed("ring", size, 1000) for size in sizes)))
            return re.search('<p class="caption">(.*?)</p>', html)[1]
        self.assertRegex(caption(4096, 256 << 10, 2 << 20), r"1M .* nearest: 256K, 2M\.")
        self.assertNotIn("not measured", caption(4096, 1 << 20))
        self.assertNotIn("not measured", caption(8, 64))  # 1M is out of range

    def test_has_a_title_of_what_was_measured_on_which_host(self):
        lines = [synthetic.session(), launch_of(), *(point | {"session": "s"} for point in (timed("ring", 8, 100), library(8, 200)))]
        self.assertIn("<title>all_reduce on 4 ranks of node0</title>", self.report(self.lines(*lines)))
        self.assertIn("<title>ddp on 2 ranks</title>", self.report(self.lines(step("ring/shm", 1.0))))

    def test_explains_its_own_words(self):
        html = self.report(self.lines(timed("ring", 8, 100)))
        terms = html[html.index('<footer id="terms">'):].lower()
        for word in ("disturbed, †", "host problem", "registered memory", "transports", "± %", "statistically tied, ≈", "too few calls, ?"):
            self.assertIn(word, terms)

    def test_strands_no_heading_on_paper(self):
        html = self.report(self.lines(timed("ring", 8, 1000)))
        for word in ("h2", "h3", ".notes", ".caption"):
            self.assertRegex(html, rf"(?m)^.*(?<![\w.-]){re.escape(word)}[,\w .]*{{ break-after: avoid; }}$")

    def test_becomes_cards_on_a_phone_with_each_value_behind_its_name(self):
        html = self.report(self.lines(timed("ring", 8, 1000, 10), library(8, 2000, 10), step("ring/shm", 1.0), step("mpi", 4.0)))
        self.assertIn('data-name="±\u00a0%" data-v="0.01">1.0</td>', html)
        self.assertIn('data-name="best method"><b>ring/shm</b>', html)
        self.assertIn(".cards td[data-name]::before { content: attr(data-name)", html)

    def test_says_on_a_phone_which_figures_go_on_to_the_right(self):
        def is_cut(count):
            points = [point for i in range(count) for point in (timed("ring", 8 << i, 1000, 10), library(8 << i, 2000, 10))]
            html = self.report(self.lines(*points), "--only", "decisions")
            return 'class="scroll cut"' in html
        self.assertEqual((is_cut(4), is_cut(16)), (False, True))

    def test_has_words_of_nine_pixels_in_figures_on_a_phone(self):
        html = self.report(synthetic.write(self.folder / "r.jsonl", **SMALL))
        for figure in re.findall("<figure.*?</figure>", html, flags=re.S):
            inches = float(re.search(r"--inches:([\d.]+)", figure)[1])
            width = max(400 - 2 * 12, 81 * inches if 'class="wide"' in figure else 0)  # page without its margins
            least = min(map(float, re.findall(r"font(?:-size)?: (?:\d+ )?([\d.]+)px", figure)))
            self.assertGreaterEqual(least * width / (72 * inches), 9, figure[:80])

    def test_holds_a_section_with_figures_and_a_table_for_each_shape(self):
        source = synthetic.write(self.folder / "r.jsonl", **SMALL | {"collectives": ("all_reduce", "broadcast")},
                                 inplace=(False, True))
        html = self.report(source, "-T", "My machine")
        self.assertIn("<h1>My machine</h1>", html)
        self.assertEqual(html.count('<section id="all-reduce-'), 2)
        self.assertEqual(html.count('<section id="broadcast-'), 2)
        self.assertEqual(html.count("<svg "), 1 + 4 * 5)  # the map; ratio, latency, bandwidth, heat map, spread
        for text in ("AMD EPYC 7B13", "6.1.0-18-amd64", "Open MPI 4.1.4", "--algo all", "2026-01-31 12:00:00 UTC", str(source)):
            self.assertIn(text, html)

    def test_has_a_navigation_with_a_name_for_each_section(self):
        changes = ({}, {"nranks": 8, "ppn": 8}, {"dtype": "double"}, {"op": "max"}, {"inplace": True}, {"buf": "registered"}, {"placement": "\u00e9"},
                   {"placement": "\u00e8"})
        fail = {"v": 1, "kind": "fail", "launch": 1, "phase": "measure", "what": "timeout"}
        files = []
        for name, cores in (("a", 4), ("b", 8)):
            points = [with_key(point, **change) | {"session": "s"} for change in changes for point in (timed("ring", 8, 100), library(8, 200))]
            files.append(self.lines(synthetic.session(), launch_of(cores=cores), *points, step("mpi", 4.0), fail, name=f"{name}.jsonl"))
        html = self.report(files, "--only", "decisions,scaling")
        entries = re.findall('<a href="#([^"]+)">([^<]+)</a>', re.search("<nav>(.*?)</nav>", html)[1])
        for entry in zip(*entries):
            self.assertEqual(len(set(entry)), len(entry))
        sections = re.findall('<(?:section|footer) id="([^"]+)"', html)
        self.assertEqual([target for target, _ in entries], [one for one in sections if not one.startswith("answer")])
        self.assertEqual(sum(name.startswith("all_reduce, ") for _, name in entries), 2 * len(changes))

    def test_says_why_a_section_has_no_figure_unless_others_are_wanted(self):
        skipped = with_key(timed("tree", 8, 1, skipped="no time"), dtype="double")
        html = self.report(self.lines(timed("ring", 8, 100), library(8, 200), skipped), "--only", "decisions")
        self.assertEqual(html.count("no figure:"), 1)

    def test_needs_nothing_from_elsewhere_and_no_script_to_be_read(self):
        html = self.report(synthetic.write(self.folder / "r.jsonl", **SMALL))
        self.assertEqual(re.findall(r'(?:src|href|url)[=(]["\']?(?!#)[^"\')]+', html), [])
        self.assertEqual(html.count("<script>"), 1)
        without = re.sub(r"<script>.*?</script>", "", html, flags=re.S)
        self.assertEqual(re.findall(r"<[^>]*\bhidden\b[^>]*>", without.split("</style>")[1]), [])
        self.assertIn('name="viewport" content="width=device-width', html)

    def test_has_values_to_hover_over(self):
        html = self.report(self.lines(timed("ring", 4096, 1000, 10), library(4096, 2000, 10)))
        self.assertIn("ring · shm, 4K: 1.00 µs", html)
        self.assertIn("ring · shm, 4K: 2.00× [1.98, 2.02]", html)

    def test_has_a_map_that_fits_a_phone_where_sizes_are_few(self):
        def least_width(sizes):
            html = self.report(self.lines(*(point for size in sizes for point in (timed("ring", size, 1000, 10), library(size, 2000, 10)))))
            inches = float(re.search(r'id="all-decisions" style="--inches:([\d.]+)"', html)[1])
            return inches * int(re.search(r"figure.wide svg { min-width: calc\((\d+)px \* var\(--inches\)\); }", html)[1])
        self.assertLessEqual(least_width([8 << 3 * i for i in range(7)]), 400 - 2 * 12)  # the page has margins of 12
        self.assertGreater(least_width([8 << i for i in range(16)]), 600)  # scrolls rather than becoming illegible

    def test_is_the_same_to_the_byte_when_made_again(self):
        source = synthetic.write(self.folder / "r.jsonl", **SMALL)
        self.assertTrue(self.report(source) == self.report(source))

    def test_shows_names_as_text_and_never_as_markup(self):
        evil = "<script>alert('$x$\"')</script>"
        point, skipped = timed(evil, 8, 100), timed(evil, 64, 100, skipped=f"no {evil}")
        other = with_key(timed("ring", 8, 300), placement=evil, input=evil)
        launch = launch_of(env={evil: evil}) | {"mpi": {"vendor": evil, "version": evil}}
        launch["hosts"][0] |= {"name": evil, "cpu_model": evil}
        session = synthetic.session() | {"argv": [evil]}
        fail = {"v": 1, "kind": "fail", "launch": 1, "phase": evil, "what": evil, "stderr_tail": evil}
        bad_step = step(evil, 1.0, metrics=[{"name": evil, "value": 1.0}])
        bad_step["key"] |= {"workload": evil, "model": evil}
        lines = [session, launch, *(one | {"session": "s"} for one in (point, skipped, other, library(8, 200), bad_step, fail))]
        html = self.report(self.lines(*lines), "-T", evil)
        self.assertEqual(html.count("<script"), 1)  # the page's own
        self.assertGreater(html.count("&lt;script&gt;alert("), 10)
        self.assertIn("$x$", html)
        self.assertEqual(re.findall(r'data-points=\'[^\']*<', html), [])

    def test_lists_skipped_points_and_failures_with_their_reasons(self):
        fail = {"v": 1, "kind": "fail", "launch": 1, "phase": "measure", "what": "timeout", "rank": 3}
        html = self.report(self.lines(timed("ring", 8, 100), timed("tree", 8, 1, skipped="6 ranks given"),
                                      timed("tree", 64, 1, skipped="6 ranks given"), fail))
        self.assertEqual(html.count("skipped: 6 ranks given"), 1)
        self.assertIn("8 to 64", html)
        self.assertRegex(html, '<td>timeout</td>.*data-name="rank">3</td>')

    def test_survives_points_without_anything_to_draw(self):
        self.report(self.lines(timed("tree", 8, 1, skipped="no time")))
        self.report(self.lines(timed("tree", 8, 1, **{"busbw_GBps": 0})))
        self.report(self.lines(timed("tree", 0, 0), timed("ring", 0, 0), library(0, 0)))

    def test_takes_raw_samples_and_metrics(self):
        one = step("ring/shm", 1.0, metrics=[{"name": "steps", "value": 3}], samples_ns={"step": [1], "compute": [1], "exposed": [1]})
        self.assertIn("steps 3", self.report(self.lines(timed("ring", 8, 100, samples_ns=[100, 101, 102]), one)))

    def test_of_many_candidates_keeps_the_best_and_says_how_many_are_left(self):
        algorithms = tuple(f"algorithm-{i}" for i in range(25))
        source = synthetic.write(self.folder / "r.jsonl", collectives=synthetic.COLLECTIVES, algorithms=algorithms,
                                 sizes=tuple(8 << i for i in range(20)))
        html = self.report(source, "--only", "decisions")
        self.assertLess(len(html.encode()), 3_000_000)
        rows, left = re.search(r"(\d+) rows; (\d+) more in the results files as a table", html).groups()
        self.assertEqual(int(rows) + int(left), 51 * 20)


@needs_matplotlib
class Steps(ReportFiles):
    def test_a_file_of_only_steps_is_a_page(self):
        source = self.lines(step("ring/shm", 1.0), step("mpi", 4.0), step("bruck/shm", 0, skipped="no such algorithm"))
        html = self.report(source, "--figures", self.folder / "figures")
        for text in ("ddp: resnet50", "exposed communication", "[mpi]", "skipped: no such", "scale=small"):
            self.assertIn(text, html)
        self.assertEqual(len(list((self.folder / "figures").glob("step-*.svg"))), 1)

    def test_shapes_of_one_workload_stand_together(self):
        def of(workload, model):
            return with_key(step("ring/shm", 1.0), workload=workload, model=model)
        html = self.report(self.lines(of("novel", "gpt2"), of("ddp", "gpt2"), of("zero", "gpt2"), of("ddp", "vgg16")))
        places = [html.index(text) for text in ("ddp: gpt2: time", "ddp: vgg16: time", "zero: gpt2: time", "novel: gpt2: time")]
        self.assertEqual(places, sorted(places))


class Refusal(ReportFiles):
    def refused(self, text, *expected):
        done = run(self.file(text), "-o", self.folder / "out.html")
        self.assertEqual(done.returncode, 64)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in expected:
            self.assertIn(part, done.stderr)

    def test_of_broken_input_is_one_line_with_file_and_line(self):
        good = json.dumps(synthetic.whole(timed("ring", 8, 100))) + "\n"
        self.refused("", "is empty")
        self.refused("size,count\n", "r.jsonl:1:")
        self.refused(good + '{"v":1,\n' + good, "r.jsonl:2:")
        self.refused('{"v":1,"kind":"point","launch":1,"key":{}}\n', "r.jsonl:1:", "coll")
        self.refused('{"v":1,"kind":"unknown"}\n', "no point in")
        self.refused(good.replace('"p50": 100', '"p50": "x"'), "r.jsonl:1:", "p50")

    def test_of_a_place_that_cannot_be_written_comes_before_anything_is_drawn(self):
        source = self.lines(timed("ring", 8, 100))
        blocked = self.file("no folder", "blocked")
        for words in (["-o", blocked / "r.html"], ["--figures", blocked], ["--artifact", blocked / "a"], ["-o", self.folder]):
            done = run(source, *words, "--figures", self.folder / "figures") if words[0] == "-o" else run(source, *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
            self.assertEqual(list((self.folder / "figures").glob("*.svg")), [])

    @needs_matplotlib
    def test_makes_the_folder_of_the_page(self):
        done = run(self.lines(timed("ring", 8, 100)), "-o", self.folder / "a/b/r.html")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.folder / "a/b/r.html").exists())

    @needs_matplotlib
    def test_on_a_full_disk_names_the_file(self):
        done = run(synthetic.write(self.folder / "r.jsonl", **SMALL), "-o", "/dev/full")
        self.assertEqual(done.returncode, 64)
        self.assertIn("'/dev/full': No space left", done.stderr)

    def test_of_an_absent_file_and_of_wrong_usage_is_one_line(self):
        source = self.lines(timed("ring", 8, 100))
        for arguments in (["absent.jsonl", "-o", "x.html"], ["-o", "x.html"], ["a.jsonl"], [source, "-o", "x", "--format", "gif"],
                          [source, "-o", "x", "--sizes", "4Q"], [source, "-o", "x", "--candidates", "absent"],
                          [source, "-o", "x", "--sizes", "1M.."]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)

    def test_spares_a_file_with_a_torn_last_line(self):
        text = json.dumps(synthetic.whole(timed("ring", 8, 100))) + "\n" + '{"v":1,"kind":"po'
        results = records.read([self.file(text)])
        self.assertEqual((len(results.points), [note.mark for note in results.notes if "torn" in note.mark]), (1, ["torn file"]))


if __name__ == "__main__":
    unittest.main()
