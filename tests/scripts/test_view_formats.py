# SPDX-License-Identifier: Apache-2.0
"""Each view of a comparison is what its reader takes, whatever the metrics are called; each check sees what is broken."""
import contextlib
import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree
from pathlib import Path

import ci_formats
from folder import Folder

TUTTI = os.environ.get("TUTTI", str(Path(__file__).resolve().parents[2] / "build/tutti"))
CHANGES = ("slower", "faster", "same", "undecided")
SESSION = {"v": 1, "kind": "session", "id": "s", "t": "2026-01-31T12:00:00.000Z", "argv": ["tutti", "compare"], "cwd": "/",
           "seed": 0, "plan_sha256": "0" * 64, "plan": {},
           "tool": {"version": "0.1.0", "git": "", "dirty": False, "build_type": "", "compiler": "", "flags": ""}}
PLAIN = ("all_reduce 4K float", "all_reduce 1M float", "broadcast 1K", "step")
HOSTILE = ('say "quotes"', "<img src=x onerror=alert(1)>", "a & b &amp; c", "CDATA ]]> ends", "two\nlines", "a\r\n::error::b",
           "emoji \U0001F680 and 漢字", "x" * 100_000, "x" * 100_000 + "y", "漢" * 40_000, "::error file=a::b", "100%0A", "%25",
           "back\\slash \\n", "cell | cell \\| cell", "`code` *bold* _it_ ~~no~~", "[link](http://x) ![p](http://x)",
           "@everyone see #1", "$x^2$", "tab\tbell\a nul\0 esc\x1b[31m", "\u0085 \u2028 \ufffe \uffff", "", " ", "'; drop table",
           "{label=\"x\"} 1", "# EOF", "geometric mean", "=1+1", "NaN", "-bencher-ignore")


def records(names, wrong=(), unit="ns"):
    yield SESSION
    for i, name in enumerate(names):
        ratio = 1 + 0.1 * (i % 3 - 1)
        for launch in range(1, 13):
            yield {"v": 1, "kind": "pair", "session": "s", "launch": launch, "metric": name, "est": 0.1,
                   "a_ns": 1000.0 + launch, "b_ns": ratio * (1000 + launch), "quads": [0.1, 0.1]}
        yield {"v": 1, "kind": "verdict", "session": "s", "metric": name, "verdict": CHANGES[i % 4], "ratio": ratio,
               "low": ratio - 0.02, "high": ratio + 0.02, "confidence": 0.98, "p": 0.001, "noise": 0.01, "mde": 0.02,
               "a_ns": 1006.5, "b_ns": 1006.5 * ratio, "unit": unit, "n_launch": 12, "rule": f"why {name}"}
    yield {"v": 1, "kind": "verdict", "session": "s", "metric": "geometric mean", "verdict": "same", "ratio": 1.0,
           "low": 0.99, "high": 1.01, "confidence": 0.98, "unit": unit, "n_launch": 12, "rule": ""}
    for text in wrong:
        yield {"v": 1, "kind": "fail", "session": "s", "launch": 1, "phase": "compare", "what": "check", "stderr_tail": text}


class OfAComparison(Folder):
    def written(self, *arguments, **options):
        """The texts of all views of such a comparison."""
        lines = [json.dumps(record) for record in records(*arguments, **options)]
        (self.folder / "r.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = [word for view in ci_formats.CHECKS for word in ("--write", f"{view}=ci/{view}")]
        done = subprocess.run([TUTTI, "compare", "--from", "./r.jsonl", *words], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        return {view: (self.folder / "ci" / view).read_bytes().decode("utf-8") for view in ci_formats.CHECKS}


class Views(OfAComparison):
    def assert_all_accepted(self, texts):
        for view, checks in ci_formats.CHECKS.items():
            for check in checks:
                with self.subTest(view=view, check=check.__name__):
                    check(texts[view])

    def test_plain_names(self):
        texts = self.written(PLAIN)
        self.assert_all_accepted(texts)
        self.assertEqual([entry["name"] for entry in json.loads(texts["action-benchmark"])], list(PLAIN))
        self.assertEqual(set(json.loads(texts["bencher"])), set(PLAIN))

    def test_numbers_of_programs(self):
        self.assert_all_accepted(self.written(PLAIN, unit=""))

    def test_nothing_compared(self):
        self.assert_all_accepted(self.written(()))

    def test_hostile_names(self):
        texts = self.written(HOSTILE)
        self.assert_all_accepted(texts)
        for view in ("action-benchmark", "bencher"):
            with self.subTest(view):
                self.assertEqual(len(json.loads(texts[view])), len(HOSTILE), "two names became one")
        for view, text in texts.items():
            with self.subTest(view):
                self.assertLess(len(text), 400_000)

    def test_each_hostile_name_where_it_fails(self):
        for name in HOSTILE:
            texts = self.written((name,))
            for view, checks in ci_formats.CHECKS.items():
                if checks[0] is ci_formats.junit:  # a process for each: all names at once will do
                    continue
                with self.subTest(name=name[:30], view=view), contextlib.suppress(unittest.SkipTest):
                    checks[0](texts[view])

    def test_wrong_results(self):
        wrong = ["rank 1 has 3,\nnot 4: <&]]>", "100 %0A @everyone " + "x" * 100_000, "again", "again"]
        texts = self.written(PLAIN, wrong=wrong)
        self.assert_all_accepted(texts)
        texts = self.written(PLAIN, wrong=[f"{i} " + "<" * 2000 for i in range(100)])
        self.assert_all_accepted(texts)
        self.assertIn("more wrong results", texts["markdown"])
        self.assertEqual(json.loads(texts["codequality"])[0]["severity"], "blocker")

    def test_a_path_of_the_project_is_relative(self):
        texts = self.written(PLAIN)
        self.assertEqual({issue["location"]["path"] for issue in json.loads(texts["codequality"])}, {"r.jsonl"})

    def test_what_is_wrong_is_said_where_gitlab_reads_it(self):
        failures = xml.etree.ElementTree.fromstring(self.written(PLAIN, wrong=["bad sum"])["junit"])
        self.assertEqual([case.text for case in failures.iter("error")], ["bad sum"])
        self.assertTrue(all("against A" in case.text for case in failures.iter("failure")))

    def test_compare_py_of_google_benchmark(self):
        if not ci_formats.COMPARE_PY.exists():
            self.skipTest(f"no {ci_formats.COMPARE_PY}; Debian has it in libbenchmark-tools")
        try:
            import scipy  # noqa: F401  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("no scipy here; Debian has it in python3-scipy")
        self.written(("one", "two & <three>"))
        said = ci_formats.run("/usr/bin/python3", str(ci_formats.COMPARE_PY), "--no-color", "benchmarks",
                              "google-benchmark-a", "google-benchmark-b", cwd=self.folder / "ci")
        rows = re.findall(r"^(one|two & <three>) +([+-][0-9.]+)", said, re.M)
        self.assertEqual(rows, [("one", "-0.1000")] * 12 + [("two & <three>", "+0.0000")] * 12, said)
        self.assertRegex(said, r"one_pvalue .* 12 vs 12")


BROKEN = (
    ("markdown", "### tutti", "<b>tutti", "a tag"), ("markdown", "| slower |", "| slower | |", "a cell too many"),
    ("markdown", "| step |", "| step @you |", "a call"),
    ("github", "%25", "%", "a percent sign"), ("github", "::error ", ":error ", "no command"),
    ("junit", "</testcase>", "", "an open element"), ("junit", 'tests="4"', "", "no count"),
    ("junit", 'failures="1"', 'failures="2"', "a wrong count"), ("junit", "12:00:00", "12:00:00.000Z", "a zone"),
    ("junit", 'classname="tutti.compare"', "", "no class"), ("junit", 'name="step"', 'name="broadcast 1K"', "one name twice"),
    ("action-benchmark", '"value": ', '"value": "x", "was": ', "a text for a number"),
    ("action-benchmark", '"value": ', '"value": NaN, "was": ', "no JSON"),
    ("bencher", '"value"', '"median"', "no value"), ("bencher", '"latency"', '"Latency!"', "no slug"),
    ("codequality", '"major"', '"bad"', "an unknown severity"), ("codequality", '"r.jsonl"', '"./r.jsonl"', "a path with ./"),
    ("google-benchmark-a", '"real_time"', '"time"', "no time"),
    ("google-benchmark-b", '"json_schema_version": 1', '"json_schema_version": 2', "another version"),
    ("openmetrics", "# EOF\n", "", "no end"), ("openmetrics", 'side="a"', 'side="b"', "a sample twice"),
    ("openmetrics", 'metric="', 'metric=', "no quotes"), ("csv", '"step"', 'step,"', "a cell too many"))


class Checks(OfAComparison):
    """The checks themselves."""

    def test_what_is_broken_is_refused(self):
        texts = self.written(PLAIN)
        for view, whole, broken, what in BROKEN:
            with self.subTest(view=view, broken=what):
                self.assertIn(whole, texts[view])
                with self.assertRaises(ci_formats.Refused):
                    ci_formats.CHECKS[view][0](texts[view].replace(whole, broken))

    def test_markdown_that_is_rendered_as_something_else_is_refused(self):
        for broken in ("### t\n\n| a |\n|---|\n| <b>x</b> |\n", "### t\n\n[x](http://x)\n", "### t\n\n| a | b |\n|---|---|\n"):
            with self.subTest(broken), self.assertRaises(ci_formats.Refused):
                ci_formats.gfm(broken)

    def test_promtool_refuses_what_is_broken(self):
        for broken in ('tutti_time_seconds{metric="x} 1\n', "# TYPE tutti_time_seconds gouge\n", "tutti time 1\n"):
            with self.subTest(broken), self.assertRaises(ci_formats.Refused):
                ci_formats.promtool(broken)


if __name__ == "__main__":
    unittest.main()
