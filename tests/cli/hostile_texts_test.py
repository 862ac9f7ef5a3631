# SPDX-License-Identifier: Apache-2.0
"""Texts that somebody else wrote into a results file, a table or a machine stay texts: no page, picture or report of them
has an element, an attribute or a link more than one of harmless texts, and nothing printed is obeyed by a terminal or a CI
system."""
import html.parser
import itertools
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree

import tutti
from tutti import QUICK, needs_matplotlib

TEXTS = ("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)", "]]><b>", "--><b>", "</svg><b>",
         "</title></style></text></td><b>", "&lt;b&gt; &#60;b> &b", "two\nlines\r\n::error::x", "::stop-commands::x",
         "##[add-mask]x ##vso[task.setvariable]x", "esc\x1b[31m bell\x07 nul\x00 c1\x9b31m del\x7f", "\ufffe \uffff \u2028",
         "javascript:alert(1)", "url(javascript:alert(1))", "_hidden", "$x^2$ \\frac{1}{0}", "%s {0} %0A", "../../x", "|`cell`",
         "\U0001F680 漢", "=1+1", "@you #1", "https://x.example", "--title=x")
ALL = " ".join(TEXTS)
FEW = (ALL, "::stop-commands::x", "\n::error::x")  # for what takes a while: all in one, and what counts at a line's begin
# Fields whose values are one of a few words, or lead from one record to another.
WORDS = {"v", "kind", "coll", "dtype", "op", "mode", "def", "state", "verdict", "unit", "method", "id", "session", "point"}
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NO_XML = re.compile(CONTROL.pattern + "|[\ufffe\uffff]")
COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)
VOID = {"meta", "br"}


def everywhere(text):
    """The same text in each field."""
    return itertools.repeat(text)


def in_turn():
    """Each text alone, also at the begin of what is shown."""
    return itertools.cycle(TEXTS)


def harmless(texts):
    """Replaces special characters by x. Lengths and numbers of words stay the same."""
    return (re.sub(r"[^\w\n ]|_", "x", text, flags=re.ASCII) for text in texts)


def spoilt(value, texts, name=""):
    """With one of the texts before each text in it, but for WORDS."""
    if isinstance(value, str):
        return value if name in WORDS else next(texts) + value
    if isinstance(value, list):
        return [spoilt(one, texts, name) for one in value]
    if isinstance(value, dict):
        return {field: one if field == "impl" and one == "tutti" else spoilt(one, texts, field) for field, one in value.items()}
    return value


def lines_of(records):
    return "".join(json.dumps(record) + "\n" for record in records)


class Shape(html.parser.HTMLParser):
    """Collects from a page the nesting of elements, their attributes, the targets of links and the shown text."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.places, self.attributes, self.links, self.styles, self.others = set(), set(), set(), set(), []
        self.shown, self._open = "", ["page"]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.places.add((self._open[-1], tag))
        for name, value in attrs:
            self.attributes.add((tag, name))
            if name in ("href", "xlink:href", "src", "action"):
                self.links.add(value)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if self._open[-1] == tag:
            self._open.pop()
        else:
            self.others.append(f"</{tag}> in <{self._open[-1]}>")

    def handle_data(self, data):
        if self._open[-1] == "style":
            self.styles.add(data)
        else:
            self.shown += data

    def handle_comment(self, data):
        self.others.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        if decl != "DOCTYPE html":
            self.others.append(f"<!{decl}>")

    def handle_pi(self, data):
        self.others.append(f"<?{data}>")

    unknown_decl = handle_pi

    def ends_open(self):
        return self._open[1:]


class OfXml:
    """The same of XML, whose parser refuses what is none."""

    def __init__(self, text):
        root = xml.etree.ElementTree.fromstring(text)
        self.places, self.attributes, self.links, self.styles, self.others = set(), set(), set(), set(), []
        self.shown = "".join(root.itertext())
        parents = {child: one for one in root.iter() for child in one}
        for one in root.iter():
            tag = one.tag.rpartition("}")[2]
            self.places.add((parents[one].tag.rpartition("}")[2] if one in parents else "page", tag))
            self.attributes |= {(tag, name.rpartition("}")[2]) for name in one.attrib}
            self.links |= {value for name, value in one.attrib.items() if name.endswith("href")}
            if tag == "style":
                self.styles.add(one.text)

    @staticmethod
    def ends_open():
        return []


class Hostile(tutti.Folder):
    """Files as others may have written them, and what may be seen of them."""

    def ok(self, *words, codes=(0,)):
        done = tutti.run(*words, timeout=180)  # matplotlib takes seconds, and more where all cores are busy
        self.assertIn(done.returncode, codes, done.stderr[-600:])
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout + done.stderr

    def written(self, name, records):
        return self.file(name, lines_of(records))

    def read(self, name):
        return (self.folder / name).read_bytes().decode("utf-8")

    def assert_alike(self, hostile, plain):
        """The first shape has nothing that the second has not, and shows the texts."""
        self.assertEqual(hostile.others, [])
        self.assertEqual(hostile.ends_open(), [])
        self.assertEqual(hostile.places - plain.places, set(), "elements where there are none")
        self.assertEqual(hostile.attributes - plain.attributes, set())
        self.assertEqual(hostile.styles - plain.styles, set())
        self.assertEqual({link for link in hostile.links if not link.startswith("#")}, set())
        self.assertIn("<script>alert(1)</script>", hostile.shown, "the texts are not in it")

    def assert_no_control(self, page):
        self.assertEqual(sorted(set(NO_XML.findall(page))), [])

    def assert_obeyed_by_nobody(self, text):
        self.assertEqual(sorted(set(CONTROL.findall(text))), [])
        self.assertEqual(COMMAND.findall(text), [], text[:2000])


def step(method, exposed, **changes):
    """A training step; times in ms."""
    def times(ms):
        ns = round(ms * 1e6)
        return {name: ns for name in ("min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean")} | {"sd": 1.0}
    return {"v": 1, "kind": "step", "session": "s", "launch": 1,
            "key": {"workload": "ddp", "model": "resnet50", "compute": "sleep", "settings": "scale=small", "buffers": "host",
                    "placement": "virtual", "way": method, "nranks": 2, "ppn": 2, "bytes": 8, "calls": 1},
            "n": 10, "step_ns": times(20 + exposed), "ci95_step_ns": [20_000_000, 21_000_000], "compute_ns": times(20),
            "communication_ns": times(5), "exposed_ns": times(exposed), "ci95_exposed_ns": [1, 2], "computing_ns": times(1),
            "wait_ns": times(0.1), "work_ns": times(5), "overlap": 0.5, "slowdown": 1.0, "bound_ns": 1.0,
            "check": {"state": "ok", "n_wrong": 0}, "metrics": [{"name": "loss", "value": 1.5}]} | changes


class OfABench(Hostile):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        measured = cls("run_one")
        measured.setUp()
        try:
            file = measured.folder / "r.jsonl"
            measured.ok("bench", "all_reduce", "-b", 8, "-e", 64, "--ranks", 2, "--algo", "ring,tree", "--transport", "shm,loopback",
                        "--baseline", "none", *QUICK, "--json", file)
            cls.measured = tutti.records(file)
        finally:
            measured.doCleanups()

    def run_one(self):
        """Only for setUpClass."""

    def records(self, texts):
        session, launch, *points, end = (record for record in self.measured if record["kind"] in ("session", "launch", "point", "end"))
        hosts = [launch["hosts"][0], launch["hosts"][0] | {"name": "another", "cpu_model": "another"}]
        launch = launch | {"hosts": hosts, "gpus": [{"model": "H200", "uuid": "u"}], "env": {"A": "b"},
                           "mpi": {"vendor": "Open MPI", "version": "4", "settings": {"a": "b"}}}
        of_library = [point | {"key": point["key"] | {"impl": "mpi", "algo": "ring", "transport": ""}} for point in points[:2]]
        skipped = points[0] | {"skipped": "no reason", "key": points[0]["key"] | {"algo": "bruck"}}
        fail = {"v": 1, "kind": "fail", "session": "s", "launch": 1, "phase": "rank killed", "what": "signal", "rank": 1,
                "host": "h", "stderr_tail": "last words", "stacks": "main"}
        made = [session, launch, *points, *of_library, skipped, step("ring/shm", 1.0), step("mpi", 2.0),
                step("bruck/shm", 0, skipped="no such algorithm"), fail, end]
        return [spoilt(record, texts) for record in made]


@needs_matplotlib
class Report(OfABench):
    def report(self, name, texts, title):
        file = self.written(f"{name}.jsonl", self.records(texts))
        self.ok("report", file, "-o", self.folder / f"{name}.html", "--svg-dir", self.folder / name, f"--title={title}")
        figures = sorted((self.folder / name).glob("*.svg"))
        self.assertGreater(len(figures), 4)
        return self.read(f"{name}.html"), [path.read_bytes().decode("utf-8") for path in figures]

    def assert_page_has_texts_only(self, texts, same_texts):
        # An argument of a process cannot hold a zero byte.
        hostile, figures = self.report("hostile", texts, ALL.replace("\0", ""))
        plain, plain_figures = self.report("plain", harmless(same_texts), "plain")
        self.assert_no_control(hostile)
        self.assert_alike(Shape(hostile), Shape(plain))
        known = [OfXml(figure) for figure in plain_figures]
        shown = ""
        for figure in figures:
            self.assert_no_control(figure)
            one = OfXml(figure)
            shown += one.shown
            self.assertEqual(one.places - set().union(*(other.places for other in known)), set())
            self.assertEqual(one.attributes - set().union(*(other.attributes for other in known)), set())
            self.assertEqual({link for link in one.links if not link.startswith("#")}, set())
        self.assertIn("<script>alert(1)</script>", shown)

    def test_the_page_and_its_figures_show_all_texts_as_they_are(self):
        self.assert_page_has_texts_only(everywhere(ALL), everywhere(ALL))

    def test_the_page_and_its_figures_show_each_text_as_it_is(self):
        self.assert_page_has_texts_only(in_turn(), in_turn())

    def test_a_name_that_matplotlib_would_hide_is_in_the_legend(self):
        self.report("r", everywhere("_hidden "), "_")
        latency = next((self.folder / "r").glob("*-latency.svg")).read_text(encoding="utf-8")
        for algorithm in ("ring", "tree"):
            self.assertRegex(latency, f">\\s*_hidden {algorithm}")


class History(OfABench):
    def launches(self, texts):
        """Eight launches of one metric, which changes."""
        for number in range(8):
            session, launch, point, *_ = self.records(texts)
            session |= {"id": f"s{number}", "t": f"2026-01-0{number + 1}" + session["t"]}
            launch |= {"session": f"s{number}", "t": session["t"]}
            point |= {"session": f"s{number}"}
            point["t_ns"]["p50"] = 1000 + number + (500 if number > 3 else 0)
            yield from (session, launch, point)

    @needs_matplotlib
    def test_the_picture_shows_all_texts_as_they_are(self):
        for name, texts in (("hostile", everywhere(ALL)), ("plain", harmless(everywhere(ALL)))):
            self.ok("history", "all_reduce", self.written(f"{name}.jsonl", self.launches(texts)), "-o", self.folder / f"{name}.svg")
        self.assert_alike(OfXml(self.read("hostile.svg")), OfXml(self.read("plain.svg")))

    def test_nothing_printed_is_obeyed(self):
        for text in FEW:
            with self.subTest(text):
                self.assert_obeyed_by_nobody(self.ok("history", "all_reduce", self.written("r.jsonl", self.launches(everywhere(text)))))

    def test_nothing_printed_of_a_database_is_obeyed(self):
        for text in FEW:
            with self.subTest(text):
                db = self.folder / "results.sqlite"
                db.unlink(missing_ok=True)
                self.ok("results", "import", self.written("r.jsonl", self.launches(everywhere(text))), "--db", db)
                for words in (("list",), ("show", "s0"), ("query", "bytes >= 0")):
                    self.assert_obeyed_by_nobody(self.ok("results", *words, "--db", db))

    def test_half_of_a_surrogate_pair_spoils_no_database(self):
        file, db = self.folder / "r.jsonl", self.folder / "results.sqlite"
        file.write_text(lines_of(self.launches(everywhere("half \ud800"))), encoding="utf-8")
        self.ok("results", "import", file, "--db", db)
        for words in (("list",), ("show", "s0"), ("query", "bytes >= 0")):
            self.assertIn("half ?", self.ok("results", *words, "--db", db))
        self.assertIn("half ?", self.ok("history", "all_reduce", "--db", db))


class Comparison(Hostile):
    def stored(self, text):
        """A comparison of records that say `text` wherever they may say something."""
        session = {"v": 1, "kind": "session", "id": "s", "t": text + "2026-01-31T12:00:00.000Z", "argv": ["tutti", "compare", text],
                   "cwd": text, "seed": 0, "plan_sha256": "0" * 64, "plan": {text: text},
                   "tool": dict.fromkeys(("version", "git", "build_type", "compiler", "flags"), text) | {"dirty": False}}
        records = [session]
        for number, verdict in enumerate(("slower", "faster", "same", "undecided")):
            metric = text + str(number)
            records += [{"v": 1, "kind": "pair", "session": "s", "launch": launch, "metric": metric, "est": 0.1,
                         "a_ns": 1000.0 + launch, "b_ns": 1100.0 + launch, "quads": [0.1]} for launch in range(1, 13)]
            records += [{"v": 1, "kind": "verdict", "session": "s", "metric": metric, "verdict": verdict, "ratio": 1.1, "low": 1.05,
                         "high": 1.15, "confidence": 0.98, "p": 0.001, "noise": 0.01, "mde": 0.02, "a_ns": 1006.5, "b_ns": 1100.0,
                         "n_launch": 12, "rule": text, "method": "stored", "ignored": [text]},
                        {"v": 1, "kind": "step_growth", "session": "s", "metric": metric, "n_launch": 5, "a_ns": [1, 2],
                         "b_ns": [2, 3], "grew_ns": [1, 1]}]
        records += [{"v": 1, "kind": "floor", "session": "s", "asked": text, "metric": text, "metrics": 2, "value": 1.0,
                     "bound": 2.0, "unit": text, "met": False},
                    {"v": 1, "kind": "fail", "session": "s", "launch": 1, "phase": "compare", "what": "check", "stderr_tail": text}]
        return self.written("r.jsonl", records)

    def view(self, name, text):
        self.ok("compare", "--from", self.stored(text), "--write", f"{name}={self.folder / name}", codes=(2,))
        return self.read(name)

    def test_junit_shows_all_texts_as_they_are(self):
        hostile, plain = (OfXml(self.view("junit", text)) for text in (ALL[:800], "plain"))
        self.assert_alike(hostile, plain)

    def test_junit_is_one_whatever_a_text_is(self):
        plain = OfXml(self.view("junit", "plain"))
        for text in TEXTS:
            with self.subTest(text):
                page = self.view("junit", text)
                self.assert_no_control(page)
                one = OfXml(page)
                self.assertEqual((one.places - plain.places, one.attributes - plain.attributes), (set(), set()))
                times = {suite.get("timestamp") for suite in xml.etree.ElementTree.fromstring(page)}
                self.assertRegex(times.pop(), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$", "no time, as the schema wants one")

    def test_markdown_has_no_html_and_calls_nobody(self):
        for text in TEXTS:
            with self.subTest(text):
                page = self.view("markdown", text)
                self.assertNotRegex(page, "[\x00-\x08\x0b-\x1f]|" + r"(?<!\\)<|(?i:https?)://")
                self.assertNotRegex(re.sub(r"&#\d+;", "", page.replace("&#8203;", " ")), r"[@#](?=\w)")
                self.assertEqual([line for line in page.split("\n") if line and not re.match(
                    r"### tutti|\||- \*\*|Noise: |stored: |although it differs: ", line)], [], "a line of its own")

    def test_nothing_printed_is_obeyed(self):
        for text in TEXTS:
            with self.subTest(text):
                self.assert_obeyed_by_nobody(self.ok("compare", "--from", self.stored(text), "--explain", "0", codes=(2,)))

    def test_numbers_that_do_not_fit_each_other_are_refused(self):
        file = self.stored("plain")
        for a_ns, grew_ns in (([1, 2], []), ([1], [1, 1]), ([1, 2, 3], [1, 1])):
            with self.subTest(a_ns=a_ns, grew_ns=grew_ns):
                records = [record | {"a_ns": a_ns, "grew_ns": grew_ns} if record["kind"] == "step_growth" else record
                           for record in tutti.records(file)]
                done = tutti.run("compare", "--from", self.written("numbers.jsonl", records))
                self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr[-300:])
                self.assertIn("numbers.jsonl:", done.stderr)


MACHINE = {"v": 1, "kind": "machine", "hosts": [{
    "name": "a", "cpu": {"architecture": "x86_64", "vendor": "AuthenticAMD", "family": 6, "model": 1},
    "packages": [{"model": "m", "cores": [0]}], "numa_nodes": [{"os_index": 0, "memory_bytes": 4, "cores": [0]}],
    "cores": [{"threads": [0]}], "caches": [{"level": 1, "kind": "data", "bytes": 8, "cores": [0]}],
    "pcie_switches": [{"pci_address": "0000:01:00.0"}],
    "devices": [{"kind": "GPU", "above": 0, "pci_address": "0000:02:00.0", "model": "H200", "names": ["GPU0"]},
                {"kind": "NIC", "above": 0, "pci_address": "0000:03:00.0", "model": "CX7", "names": ["eth0"],
                 "ports": [{"name": "mlx5_0", "Gbitps": 100}]}]}]}


class Topology(Hostile):
    def machine(self, name, texts):
        def spoil(value, field=""):
            if isinstance(value, str):
                return value if field in ("kind", "pci_address", "architecture") else next(texts) + value
            if isinstance(value, list):
                return [spoil(one, field) for one in value]
            if isinstance(value, dict):
                return {inner: spoil(one, inner) for inner, one in value.items()}
            return value
        return self.file(name, json.dumps(spoil(MACHINE)))

    @needs_matplotlib
    def test_the_pictures_show_all_texts_as_they_are(self):
        for name, texts in (("hostile", everywhere(ALL)), ("plain", harmless(everywhere(ALL)))):
            self.ok("topo", "--from", self.machine(f"{name}.json", texts), "--svg", self.folder / f"{name}.svg")
        hostile = self.read("hostile.svg")
        self.assert_no_control(hostile)
        self.assert_alike(OfXml(hostile), OfXml(self.read("plain.svg")))

    def test_nccl_reads_texts_only(self):
        texts = (text.replace("\ufffe", "").replace("\uffff", "") for text in in_turn())  # NCCL reads bytes, and no UTF-8
        for name, of_file in (("hostile", texts), ("plain", harmless(in_turn()))):
            self.ok("topo", "--from", self.machine(f"{name}.json", of_file), "--nccl-xml", self.folder / f"{name}.xml")
        hostile, plain = (OfXml(self.read(f"{name}.xml")) for name in ("hostile", "plain"))
        self.assertEqual((hostile.places - plain.places, hostile.attributes - plain.attributes), (set(), set()))


class Table(Hostile):
    def table(self, name, text):
        choice = {"impl": "tutti", "algorithm": text + "ring", "transport": "shm"}
        return self.file(name, json.dumps({
            "format": "tutti-table", "version": 1, "written": "2026-11-21T12:00:00.000Z", "tool": "tutti", "sections": [{
                "setting": {"ranks": 4, "ranks_per_host": 4, "topology": text[:50] + "0f3a"},
                "subject": {"collective": "all_reduce", "buffers": "registered"}, "launches": [text],
                "ranges": [{"from": 0, "choice": choice, "origin": "measured",
                            "evidence": [{"size": 8, "time": {"p50": 900.0, "low": 870.0, "high": 930.0, "n": 20}}]}]}]}))

    @needs_matplotlib
    def test_the_decision_map_shows_all_texts_as_they_are(self):
        # The reader refuses control characters and long names.
        for number, text in enumerate(text for text in TEXTS if not NO_XML.search(text) and "\n" not in text):
            with self.subTest(text):
                for name, of_file in (("hostile", text), ("plain", "x" * len(text))):
                    self.ok("tune", "--explain", self.table(f"{name}{number}.json", of_file), "--svg", self.folder / f"{name}.svg")
                hostile, plain = (OfXml(self.read(f"{name}.svg")) for name in ("hostile", "plain"))
                self.assertEqual((hostile.places - plain.places, hostile.attributes - plain.attributes), (set(), set()))
                self.assertEqual({link for link in hostile.links if not link.startswith("#")}, set())


if __name__ == "__main__":
    unittest.main()
