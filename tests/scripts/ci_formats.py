# SPDX-License-Identifier: Apache-2.0
"""Whether a file is what its reader takes: by the reader itself where it is installed, by a schema where it is a service."""
import io
import json
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree
from pathlib import Path

SCHEMAS = Path(__file__).parent / "formats"
COMPARE_PY = Path("/usr/share/benchmark/compare.py")  # Debian's libbenchmark-tools
LONGEST_MARKDOWN = 65_536  # GitHub's limit of a comment
LONGEST_LABEL = 4096


class Refused(AssertionError):
    """In the reader's words."""


def tool(name, package):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"no {name} here; Debian has it in {package}")
    return path


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **options)
    if done.returncode != 0:
        raise Refused(done.stdout + done.stderr)
    return done.stdout + done.stderr


def junit(text):
    run(tool("xmllint", "libxml2-utils"), "--noout", "--schema", str(SCHEMAS / "junit.xsd"), "-", input=text)
    for suite in xml.etree.ElementTree.fromstring(text):
        cases = suite.findall("testcase")
        names = [case.get("name") for case in cases]
        if len(set(names)) != len(names):
            raise Refused("two cases have one name: GitLab shows the first")
        for count, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if int(suite.get(count)) != sum(case.find(element) is not None for case in cases):
                raise Refused(f"{count} does not count what is in it")
        if int(suite.get("tests")) != len(cases):
            raise Refused("tests does not count the cases")


def by_schema(name):
    def check(text):
        try:
            import jsonschema  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise unittest.SkipTest("no jsonschema here; Debian has it in python3-jsonschema") from None
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        try:
            def no_constant(word):
                raise Refused(f"{word} is no JSON")
            jsonschema.validate(json.loads(text, parse_constant=no_constant), schema)
        except (jsonschema.ValidationError, ValueError) as error:
            raise Refused(str(error)[:500]) from error
    return check


def codequality(text):
    by_schema("codequality")(text)
    fingerprints = [issue["fingerprint"] for issue in json.loads(text)]
    if len(set(fingerprints)) != len(fingerprints):
        raise Refused("two issues have one fingerprint: GitLab shows the first")


def promtool(text):
    said = run(tool("promtool", "prometheus"), "check", "metrics", input=text)
    if said.strip():
        raise Refused(said)  # its advice, with code 0 or 3


def openmetrics(text):
    """By the parser of Prometheus' Python client; the format's own rules (# EOF, UNIT) are in it."""
    try:
        from prometheus_client.openmetrics import parser  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise unittest.SkipTest("no prometheus_client here; Debian has it in python3-prometheus-client") from None
    try:
        families = list(parser.text_string_to_metric_families(text))
    except ValueError as error:
        raise Refused(str(error)[:500]) from error
    series = [line.rsplit(" ", 1)[0] for line in text.split("\n") if line and not line.startswith("#")]
    if len(set(series)) != len(series):
        raise Refused("a series is there twice")
    labels = [value for family in families for sample in family.samples for value in sample.labels.values()]
    if any(len(value) > LONGEST_LABEL for value in labels):
        raise Refused("a label is too long")


def markdown(text):
    """A title, a list, one table whose rows have as many cells as its head, a sentence."""
    if len(text.encode()) > LONGEST_MARKDOWN:
        raise Refused("longer than GitHub takes")
    if re.search(r"(?<!\\)<(?!br>)", text):
        raise Refused("holds HTML")
    if re.search(r"[@#](?=\w)", re.sub(r"&#\d+;", "", text.replace("&#8203;", " "))):
        raise Refused("calls someone, or names an issue")
    table = [line for line in text.split("\n") if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1 for line in table]
    if cells and set(cells) != {cells[0]}:
        raise Refused(f"rows of {sorted(set(cells))} cells")
    for line in text.split("\n"):
        if line and not re.match(r"### tutti|\||- |Noise: |\d+ more rows", line):
            raise Refused(f"a line of its own: {line[:80]}")


def gfm(text):
    """Checks what GitHub would render: one table and only our own marks."""
    page = run(tool("cmark-gfm", "cmark-gfm"), "--unsafe", "-e", "table", "-e", "strikethrough", input=text)
    tags = set(re.findall(r"<(\w+)", page))
    if not tags <= {"h3", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}:
        raise Refused(f"marks of others: {sorted(tags)}")
    rows = page.count("<tr>")
    if page.count("<table>") > 1 or page.count("<td") + page.count("<th") - page.count("<thead") != 7 * rows:
        raise Refused("no table")


def github(text):
    """Commands as the runner parses them: ::NAME PROPERTY=VALUE::DATA, in DATA %25, %0D and %0A only."""
    counts = {}
    for line in text.split("\n")[:-1]:
        command = re.fullmatch(r"::(error|warning|notice) title=([^:,%\r]*)::([^\r]*)", line)
        if command is None:
            raise Refused(f"no command of annotations: {line[:80]}")
        if re.search(r"%(?!25|0D|0A)", command[3]):
            raise Refused(f"a percent sign of its own: {line[:80]}")
        if len(line.encode()) > 4096:
            raise Refused("an annotation is longer than GitHub shows")
        counts[command[1]] = counts.get(command[1], 0) + 1
    if any(count > 10 for count in counts.values()):
        raise Refused("more annotations of a kind than GitHub shows")


def csv(text):
    import csv as reader  # pylint: disable=import-outside-toplevel
    try:
        rows = list(reader.reader(io.StringIO(text, newline=""), strict=True))
    except reader.Error as error:
        raise Refused(str(error)) from error
    if any(len(row) != len(rows[0]) for row in rows):
        raise Refused("rows of different length")


CHECKS = {"markdown": [markdown, gfm], "github": [github], "junit": [junit], "csv": [csv], "codequality": [codequality],
          "action-benchmark": [by_schema("action-benchmark")], "bencher": [by_schema("bencher")],
          "google-benchmark-a": [by_schema("google-benchmark")], "google-benchmark-b": [by_schema("google-benchmark")],
          "openmetrics": [openmetrics, promtool]}
