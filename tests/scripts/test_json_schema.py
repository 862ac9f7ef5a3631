# SPDX-License-Identifier: Apache-2.0
"""`tutti results schema` holds for every results file there is, and refuses broken records."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))

from optional import module  # noqa: E402
import tutti  # noqa: E402

jsonschema = module("jsonschema")

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMIX_", "PMI_", "SLURM_"))}
ENVIRONMENT |= {"TUTTI_LIMITS": "none", "TUTTI_MODEL": "none"}


def run(*words):
    return subprocess.run([TUTTI, *map(str, words)], capture_output=True, text=True, check=True, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL).stdout


def fields_of(schema):
    """Yields the names of all fields in the schema, at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from fields_of(part)


@unittest.skipUnless(jsonschema, "needs python3-jsonschema")
class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(run("results", "schema"))
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def fault(self, record):
        return next(iter(self.validator.iter_errors(record)), None)

    def expect_valid(self, file):
        count = 0
        for record in tutti.records(file):
            fault = self.fault(record)
            self.assertIsNone(fault, f"{file}: {record['kind']}: {fault and fault.json_path}: {fault and fault.message}")
            count += 1
        return count

    def test_is_a_schema_of_draft_2020_12(self):
        self.assertEqual(self.schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
        jsonschema.Draft202012Validator.check_schema(self.schema)

    def test_holds_for_every_results_file_of_the_tree(self):
        files = [file for file in sorted((ROOT / "results").rglob("*.jsonl")) if "pytorch" not in file.name]
        self.assertGreater(len(files), 50)
        self.assertGreater(sum(map(self.expect_valid, files)), 5000)

    def test_holds_for_what_is_measured_now(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "r.jsonl"
            quick = ("--ranks", 2, "--sync", "barrier", "--json", file)
            run("bench", "all_reduce", "--algo", "ring,butterfly", "--transport", "shm", "--baseline", "none", "-b", 8, "-e", "1K",
                "-f", 16, "-n", 3, "-w", 0, "--raw", *quick)
            run("bench", "broadcast", "--ranks", 3, "--algo", "tree", "--radix", 3, "--transport", "loopback", "--baseline", "none",
                "--counts", 4, "-n", 1, "-w", 0, "--json", file)
            run("workload", "ddp", "--ranks", 2, "--algo", "ring", "--transport", "shm", "--baseline", "none", "--min-steps", 1,
                "-n", 2, "-w", 0, "--max-time", "1ms", "--json", file)
            kinds = {record["kind"] for record in tutti.records(file)}
            self.assertLessEqual({"session", "launch", "point", "step", "end"}, kinds)
            self.expect_valid(file)

    def test_has_only_fields_that_the_page_describes(self):
        page = set(re.findall(r"\w+", (ROOT / "docs/reference/results_file.md").read_text(encoding="utf-8")))
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "r.csv"
            run("bench", "all_reduce", "--ranks", 2, "--algo", "ring", "--transport", "shm", "--baseline", "none", "--counts", 4,
                "-n", 1, "-w", 0, "--csv", table)
            columns = next(line for line in table.read_text(encoding="utf-8").splitlines() if not line.startswith("#")).split(",")
        fields = list(fields_of(self.schema))
        self.assertGreater(len(fields), 200)
        known = page | {knob["key"] for knob in json.loads(run("list", "--json"))["knobs"]}
        self.assertEqual([name for name in dict.fromkeys([*fields, *columns]) if name not in known], [])

    def test_refuses_a_record_without_a_field_that_must_be_there(self):
        for path in ("session.id", "session.tool.version", "launch.nranks", "launch.t", "point.key", "point.key.coll",
                     "point.t_ns.p50", "point.check.state", "step.step_ns", "step.key.way", "end.ok",
                     "limits.curves"):
            with self.subTest(path):
                kind, *inner, name = path.split(".")
                record = self.example(kind)
                place = record
                for field in inner:
                    place = place[field]
                del place[name]
                self.assertIsNotNone(self.fault(record))
        for name in ("v", "kind"):
            record = self.example("point")
            del record[name]
            self.assertIsNotNone(self.fault(record))

    def test_refuses_values_of_a_wrong_type(self):
        for path, value in (("session.seed", "1"), ("launch.nranks", 2.5), ("launch.hosts", {}), ("point.key.bytes", "1M"),
                            ("point.key.coll", "all_reduced"), ("point.key.op", 3), ("point.t_ns.p50", None), ("point.mode", "b3b"),
                            ("point.ci95_p50_ns", [1]), ("point.ci95_p50_ns", [1, 2, 3]), ("point.check.n_wrong", True),
                            ("step.overlap", "0.5"), ("end.ok", 1), ("point.v", 2), ("point.kind", 5),
                            ("point.key.inplace", "no")):
            with self.subTest(path):
                kind, *inner, name = path.split(".")
                record = self.example(kind)
                place = record
                for field in inner:
                    place = place[field]
                place[name] = value
                self.assertIsNotNone(self.fault(record))

    def test_allows_what_the_reader_allows(self):
        """Fields and kinds of a newer tutti, fields that are null, and points without times that were skipped."""
        point = self.example("point")
        self.assertIsNone(self.fault(point | {"novel": [1]}))
        self.assertIsNone(self.fault({"v": 1, "kind": "novel"}))
        self.assertIsNone(self.fault(point | {"limit_ns": None}))
        head = {name: point[name] for name in ("v", "kind", "launch", "key")}
        self.assertIsNotNone(self.fault(head))
        self.assertIsNone(self.fault(head | {"skipped": "why"}))
        self.assertIsNotNone(self.fault(head | {"skipped": None}))

    def example(self, kind):
        if not hasattr(Schema, "examples"):
            Schema.examples = {}
            for file in ("compare/openmpi/scatter-np2.jsonl", "overlap/gpt2-sleep.jsonl"):
                for record in tutti.records(ROOT / "results/reference/epyc-2-cores" / file):
                    Schema.examples.setdefault(record["kind"], record)
        self.assertIsNone(self.fault(Schema.examples[kind]))
        return copy.deepcopy(Schema.examples[kind])


if __name__ == "__main__":
    unittest.main()
