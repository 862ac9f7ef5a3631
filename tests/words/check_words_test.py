# SPDX-License-Identifier: Apache-2.0
"""Checks the counts of check_words on small examples."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import rules  # noqa: E402
from texts import texts_of  # noqa: E402


def parts(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        return [(one.line, one.kind, one.text, one.is_block) for one in texts_of(Path(folder), path)]


class Texts(unittest.TestCase):
    def test_comments_on_lines_that_follow_each_other_are_one(self):
        self.assertEqual(parts("a.cpp", "// Of a\n// b.\nint x;  // of c\n/// D\n"),
                         [(1, "comment", "Of a\nb.", True), (3, "comment", "of c", False), (4, "comment", "D", True)])

    def test_strings_and_docstrings_are_told_apart(self):
        self.assertEqual(parts("a.cpp", 'f("a // b");\n'), [(1, "string", '"a // b"', False)])
        self.assertEqual(parts("a.py", '"""Doc."""\nx = "s"  # note\n'),
                         [(1, "comment", "Doc.", True), (2, "string", '"s"', False), (2, "comment", "note", False)])

    def test_pages_are_read_without_code(self):
        self.assertEqual(parts("a.md", "see `x behind`\n```\nnobody\n```\n"), [(1, "page", "see ``", False)])


class Rules(unittest.TestCase):
    def test_subjects(self):
        for good in ("ring: allow empty chunks", "cli, docs: print units", "library/mpi: pass errors on"):
            self.assertTrue(rules.is_subject(good), good)
        for bad in ("ring: allows empty chunks", "ring: the chunks", "Ring", "ring: allow " + 70 * "x", "ring: adding chunks"):
            self.assertFalse(rules.is_subject(bad), bad)

    def test_help_goes_on_in_the_next_lines(self):
        self.assertEqual(rules.described("Options:\n  -e,--end N=4   last\n              size\n  --long-name\n         all of it\n"),
                         [("-e,--end N=4", "last size"), ("--long-name", "all of it")])

    def test_a_range_may_fill_the_column_of_names(self):
        self.assertEqual(rules.described("  --radix INT in [2 - 64] Factor per step\n"),
                         [("--radix INT in [2 - 64]", "Factor per step")])

    def test_prose(self):
        self.assertTrue(rules.is_prose("'x' matches no measured result"))
        self.assertFalse(rules.is_prose("-b 8 -e 1M --json all_reduce"))
        self.assertEqual(rules.prose_of_python("self.assertIn('one two three four', x)\nself.fail('one two three four')\n"),
                         [(1, "one two three four")])
        self.assertEqual(list(rules.prose_of_cpp('EXPECT_EQ(x, "one two three four") << "five six seven eight";\n')),
                         [(1, '"one two three four"')])


if __name__ == "__main__":
    unittest.main()
