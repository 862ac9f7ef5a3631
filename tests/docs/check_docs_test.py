#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the checks of the documentation."""
import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path

import check_docs


def load_script(path):
    loader = importlib.machinery.SourceFileLoader("commands", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("commands", loader))
    loader.exec_module(module)
    return module


commands = load_script(check_docs.ROOT / "scripts/check_docs")

HELP = {"": "usage\n\n  bench     sweep\n  show      tell\n  workload  train\n",
        "workload": "usage\n  --list-models\n\n  ddp     buckets\n", "workload ddp": "  --model TEXT\n",
        "bench": "  -b,--minbytes TEXT   smallest\n  --algo TEXT\n", "show": "  --ranks INT\n"}


class Documentation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "docs").mkdir()
        (self.root / "docs" / "page.md").write_text("# A page\n\n## In two `steps`\n")

    def links(self, text):
        return list(check_docs.faults_of_links(self.root / "README.md", text))

    def defaults(self, text):
        known = check_docs.defaults_of("\n".join(("  -n,--number INT=3   Calls", "  --name NAME=VALUE   text", "  --after N           Calls",
                                                 "                      (default: 64)", "  --fail {a,b}=a      verdict", "  -T,--timeout T=30s  deadline",
                                                 "  --start T           start [20s, or -T if longer]", "  --ranks INT:INT in [1 - 9]")))
        return list(check_docs.faults_of_defaults(text, known))

    def test_finds_defaults_that_help_does_not_have(self):
        fault, = self.defaults("| `--after N` | leaves the first N calls (default 64) |\n`--fail`: `a` (default). `--number` (default 4?)\n"
                                       "`--name` (default x). See `--after`. The number is large (default: 7).")
        for key in ("4?", "--number", "3"):
            self.assertIn(key, fault)
        for text in ("`--after N` (default 63)", "`--after N`: N calls (default: `6`)", "`--fail b` (default)", "`--fail` is `b` (default)"):
            self.assertEqual(len(self.defaults(text)), 1, text)

    def test_finds_defaults_of_times_and_in_tables(self):
        table = "| option | default | limits |\n|---|---|---|\n| `-T` | {} | a call |\n| `--start` | {}, or `-T` | it |\n"
        for text, faults in ((table.format("30 s", "20 s"), 0), (table.format("3 s", "30 s"), 2), ("the deadline (`-T`, default 30 s)", 0),
                             ("the deadline (`-T`, default 31 s)", 1), ("to `--timeout` (30 s), or", 0), ("to `--timeout` (0.2 s), or", 1),
                             ("| default |\n\n| `-T` | 3 s |", 0), ("`--ranks N` (default 1)", 0)):
            self.assertEqual(len(self.defaults(text)), faults, text)

    def paths(self, text):
        return list(check_docs.faults_of_paths(self.root, text))

    def calls(self, text):
        return list(check_docs.faults_of_calls(text, HELP.__getitem__))

    def assert_one(self, faults, key):
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(key, faults[0])

    def test_a_command_with_names_has_options_for_each(self):
        self.assertEqual(self.calls("`tutti workload ddp --model x` `tutti workload --list-models`"), [])
        self.assert_one(self.calls("`tutti workload --model x`"), "'tutti workload' with --model, an unknown")
        self.assertEqual(len(self.calls("`tutti workload ddp --list-models`")), 1)

    def test_options_that_a_command_passes_on_are_known(self):
        help_of = {"": "  guard     Guard\n  compare   Compare\n", "guard": "guard BASE [OPTIONS OF\nCOMPARE]\n  --build TEXT  Build\n",
                   "compare": "  --metric TEXT  Number\n"}.__getitem__
        self.assertEqual(list(check_docs.faults_of_calls("`tutti guard x --build y --metric z`", help_of)), [])
        self.assertEqual(len(list(check_docs.faults_of_calls("`tutti guard x --lost`", help_of))), 1)

    def test_pages_of_all_folders_are_read(self):
        (self.root / "docs" / "how-to").mkdir()
        (self.root / "docs" / "how-to" / "task.md").write_text("# A task\n")
        names = [page.relative_to(self.root).as_posix() for page in check_docs.pages(self.root)]
        self.assertEqual(names, ["README.md", "CONTRIBUTING.md", "docs/how-to/task.md", "docs/page.md"])

    def test_a_link_must_lead_somewhere(self):
        self.assertEqual(self.links("[a](docs/page.md) [b](https://example.org/x)"), [])
        self.assert_one(self.links("[a](docs/lost.md)"), "links to docs/lost.md")

    def test_a_picture_must_be_there_also_within_a_link(self):
        self.assertEqual(len(self.links("[![text](lost.svg)](docs/page.md)")), 1)

    def test_an_anchor_must_be_a_heading(self):
        self.assertEqual(self.links("[a](docs/page.md#in-two-steps)"), [])
        self.assertEqual(len(self.links("[a](docs/page.md#in-three-steps)")), 1)

    def test_a_path_in_code_must_exist(self):
        self.assertEqual(self.paths("`docs/page.md`, `docs/`, `docs/*.md`, `a/b`, `build/tutti`"), [])
        self.assert_one(self.paths("`docs/lost.md`"), "mentions docs/lost.md")
        self.assertEqual(len(self.paths("```sh\ndocs/lost.sh --now\n```\n")), 1)

    def test_a_command_must_be_known(self):
        self.assertEqual(self.calls("```sh\nmpirun -np 2 build/tutti bench x -b 8  # tutti lost\n```\n"), [])
        self.assert_one(self.calls("`tutti lost`"), "'tutti lost', an unknown")
        self.assertEqual(len(self.calls("```sh\ncmake --build build --target tutti\ntutti lost\n```\n")), 1)

    def test_an_option_must_be_known(self):
        self.assertEqual(self.calls("`tutti show ring --ranks 4`"), [])
        self.assertEqual(len(self.calls("`tutti show ring --rank 4`")), 1)
        self.assertEqual(len(self.calls("```sh\ntutti bench x --minbytes 8 --lost && tutti show y\n```\n")), 1)

    def test_output_is_no_command(self):
        self.assertEqual(self.calls("```text\ntutti: rank 2 waited\n```\n"), [])

    def test_a_generated_page_must_be_up_to_date(self):
        self.assertEqual(check_docs.stale("| a |\n", "| a |\n"), [])
        self.assertEqual(len(check_docs.stale("| a |\n", "| b |\n")), 1)

    def test_the_options_of_all_commands_are_listed(self):
        page = check_docs.options_page(HELP.__getitem__)
        self.assertIn("## tutti bench\n\n```text\n", page)
        self.assertIn("--minbytes", page)

    def test_a_variable_that_the_code_reads_must_be_described(self):
        (self.root / "CMakeLists.txt").write_text('option(TUTTI_LOST "words" ON)\n')
        (self.root / "cli").mkdir()
        (self.root / "cli" / "main.cpp").write_text('getenv("TUTTI_LOST_TOO"); getenv("TUTTI_KERNELS");\n')
        self.assertEqual(len(list(check_docs.faults_of_variables(self.root))), 2)


class Commands(unittest.TestCase):
    def test_numbers_may_differ(self):
        self.assertIsNone(commands.first_difference("time  1.5 us\n", "head\ntime 22.75  us\n"))
        self.assertEqual(commands.first_difference("time 1.5 us\n", "rate 1.5 us\n"), "time 1.5 us")

    def test_lines_follow_each_other_unless_dots_stand_between(self):
        self.assertEqual(commands.first_difference("a\nc\n", "a\nb\nc\n"), "c")
        self.assertIsNone(commands.first_difference("a\n…\nc\n", "a\nb\nc\n"))
        self.assertEqual(commands.first_difference("c\n…\na\n", "a\nb\nc\n"), "a")

    def test_rows_that_differ_only_in_figures_count_as_one(self):
        self.assertIsNone(commands.first_difference("8 1.5 ring\n64 2.5 ring\nend\n", "8 1.5 ring\nend\n"))
        self.assertEqual(commands.first_difference("8 1.5 ring\n8 2.5 tree\n", "8 1.5 ring\n"), "8 2.5 tree")

    def test_a_comment_labels_the_next_block(self):
        page = "<!-- check: minutes, exit=2 -->\n```sh\nfalse\n```\n\n```sh\ntrue\n```\n"
        first, second = commands.blocks_of(page)
        self.assertEqual((first.labels, first.exit, first.line), (["minutes"], [2], 3))
        self.assertEqual((second.labels, second.exit), ([], [0]))

    def test_an_unknown_label_is_refused(self):
        with self.assertRaises(ValueError):
            commands.blocks_of("<!-- check: often -->\n```sh\ntrue\n```\n")

    def test_the_pages_have_known_labels(self):
        for page in commands.pages_in_order():
            commands.blocks_of(page.read_text(encoding="utf-8"))

    def test_variables_and_folder_are_kept_between_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            session = commands.Session(Path(folder), check_docs.ROOT / "README.md")
            first, second, third = commands.blocks_of("```sh\nexport A=1\nmkdir x\ncd x\n```\n```sh\ntest $A = 1 && touch y\n```\n"
                                                      "```sh\nfalse\ntrue\n```\n")
            self.assertEqual([session.run(block, 60)[0] for block in (first, second, third)], [0, 0, 1])
            self.assertTrue((Path(folder) / "tutti/x/y").exists())


if __name__ == "__main__":
    unittest.main()
