# SPDX-License-Identifier: Apache-2.0
"""The tables of `tutti show` (which bench prints, too), its JSON and the report have the same numbers, for all stored results."""

import json
import re
import subprocess
import unittest
from pathlib import Path

from report_files import Values  # also finds plots
from plots import records, sections, summary

REFERENCE = Path(__file__).resolve().parents[2] / "results/reference"
LINE = re.compile(r"#\s+(\d+)  (\S.*?)\s{2,}([\d.]+)\s+(\S+)  (\S+)\s+([\d.]+)  (\S.*?)(?:\s{2,}|$)")


def shown(file):
    """{(collective, place, memory): {size: (best, time, library, ratio)}} of the text of a single table."""
    done = subprocess.run([records.command(), "show", file], capture_output=True, text=True, check=False)
    tables, found = {}, None
    for line in done.stdout.splitlines():
        if title := re.match(r"# Fastest of \d+ candidates: (\w+) .*?, (in|out of) place, (\w+) memory(.*)", line):
            found = tables.setdefault((title[1], title[2] == "in", title[3], title[4].strip(", ")), {})
        elif found is not None and (cells := LINE.match(line)):
            found[int(cells[1])] = cells[2], cells[3], cells[5], cells[7]
    return {} if "the launches differ" in done.stdout else tables


def fastest(table, size, ours):
    return next((table["candidates"][place] for place in size["order"] if (table["candidates"][place]["impl"] == "tutti") == ours), None)


class SameNumbers(Values):
    def test_of_all_stored_results(self):
        compared = 0
        for file in sorted(REFERENCE.rglob("*.jsonl")):
            tables = shown(file)
            if not tables:
                continue
            results = records.read([file])
            by_key = {(one["key"]["coll"], one["key"]["inplace"], one["key"]["buf"], one["key"].get("input") or ""): one for one in results.tables}
            pages = {section.shape.slug: section for section in sections.sections_of(results)}
            for key, sizes in tables.items():
                table = by_key[key]
                for size in table["sizes"]:
                    best, library = fastest(table, size, True), fastest(table, size, False)
                    if not best or not library or size["bytes"] not in sizes:
                        continue
                    name, time, its, ratio = sizes[size["bytes"]]
                    cell = next(one for one in size["cells"] if table["candidates"][one["candidate"]] == best)
                    self.assertEqual(re.split(r"[\[@]| \(", name)[0], best["algo"], (file, size["bytes"]))
                    self.assertEqual(time, f"{cell['p50_ns'] / 1000:.2f}")
                    if table["candidates"][table["library"]] != library:
                        continue  # the text has the fastest variant of the library, the report its default
                    of_json = cell["over_library"]
                    self.assertEqual(its.split("/")[0], library["impl"])
                    self.assertTrue(ratio.startswith(f"{of_json['value']:.2f} (" + (f"{of_json['low']:.2f} .. {of_json['high']:.2f})"
                                                                                   if of_json["low"] is not None and "too few" not in ratio else "")), (file, ratio))
                    compared += 1
            for section in pages.values():
                for size in section.sizes:
                    gain = section.choice(size).gain
                    if gain:
                        self.assertIn(f"{gain.value:.2f}" if gain.value < 9.995 else "", summary._gain(section, section.choice(size)).text)
        self.assertGreater(compared, 250)

    def test_of_comparisons(self):
        """`show` prints a stored comparison by the function that `compare` prints it by; the JSON has its records."""
        for file in sorted(REFERENCE.rglob("*.jsonl")):
            lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if '"kind":"verdict"' in line]
            if lines:
                done = subprocess.run([records.command(), "show", "--json", file], capture_output=True, text=True, check=True)
                self.assertEqual([one["ratio"] for one in json.loads(done.stdout)["verdicts"]], [one["ratio"] for one in lines])


if __name__ == "__main__":
    unittest.main()
