# SPDX-License-Identifier: Apache-2.0
"""The script of the report's page, run by node: tables sort by value."""

import json
import shutil
import subprocess
import unittest

from report_files import HERE, SCRIPTS

NODE = shutil.which("node") or shutil.which("nodejs")


@unittest.skipUnless(NODE, "needs node; Debian has it in nodejs")
class Sorting(unittest.TestCase):
    def orders(self, rows, clicks):
        """(aria-sort, texts of the first column) after each click on the head of a column."""
        given = json.dumps({"clicks": clicks, "rows": rows})
        done = subprocess.run([NODE, HERE / "page.mjs", SCRIPTS / "plots/page.js"], input=given, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [(state, " ".join(texts)) for state, texts in json.loads(done.stdout)]

    def test_is_by_number_in_both_directions(self):
        rows = [[["9", None]], [["100", None]], [["-3", None]], [["20.5", None]]]
        self.assertEqual(self.orders(rows, [0, 0]), [("ascending", "-3 9 20.5 100"), ("descending", "100 20.5 9 -3")])

    def test_is_by_the_value_of_a_cell_before_its_text(self):
        rows = [[["1M", "1048576"]], [["8", "8"]], [["64K", "65536"]]]
        self.assertEqual(self.orders(rows, [0])[0], ("ascending", "8 64K 1M"))

    def test_has_texts_after_numbers_and_empty_cells_last_in_both_directions(self):
        rows = [[["a", None], ["", None]], [["b", None], ["ring", None]], [["c", None], ["2", None]], [["d", None], ["chain", None]]]
        self.assertEqual(self.orders(rows, [1, 1]), [("ascending", "c d b a"), ("descending", "b d c a")])

    def test_takes_a_dash_for_an_empty_cell(self):
        rows = [[["a", None], ["–", None]], [["b", None], ["9", None]], [["c", None], ["10", None]], [["d", None], ["– unknown", None]]]
        self.assertEqual(self.orders(rows, [1, 1]), [("ascending", "b c a d"), ("descending", "c b a d")])

    def test_of_another_column_begins_ascending(self):
        rows = [[["a", None], ["2", None]], [["b", None], ["1", None]]]
        self.assertEqual([state for state, _ in self.orders(rows, [0, 1, 0])], ["ascending"] * 3)


if __name__ == "__main__":
    unittest.main()
