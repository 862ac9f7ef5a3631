# SPDX-License-Identifier: Apache-2.0
"""The helper for Python, and that every golden file is still compared with something."""
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
import golden  # noqa: E402

TESTS = golden.FOLDER.parent
OWN = {"CMakeLists.txt", "golden.hpp", "golden.py", "golden_test.py"}


class Golden(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_other_text_fails_with_the_lines_that_differ(self):
        (self.folder / "a.txt").write_text("one\ntwo\nthree\n")
        golden.expect(self, "a.txt", "one\ntwo\nthree\n", self.folder)
        with self.assertRaises(AssertionError) as failure:
            golden.expect(self, "a.txt", "one\n2\nthree\n", self.folder)
        self.assertIn("-two\n+2\n", str(failure.exception))

    def test_update_writes_the_file_except_in_ci(self):
        environment = {"TUTTI_UPDATE_GOLDEN": "1"}
        with mock.patch.dict("os.environ", environment, clear=True):
            golden.expect(self, "x/a.txt", "new\n", self.folder)
        self.assertEqual((self.folder / "x/a.txt").read_text(), "new\n")
        with mock.patch.dict("os.environ", environment | {"CI": "true"}, clear=True):
            with self.assertRaises(AssertionError):
                golden.expect(self, "x/a.txt", "newer\n", self.folder)

    def test_masked_figures_do_not_matter(self):
        self.assertEqual(golden.mask_figures("time 1.25 us,  -3e-7 (12 %)\n-----"), "time # us, # (# %)\n-")


class Files(unittest.TestCase):
    def test_every_file_is_named_by_a_test(self):
        sources = "".join(path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("*"))
                          if path.suffix in (".cpp", ".hpp", ".py") and path.name != "golden_test.py")
        for path in sorted(golden.FOLDER.rglob("*")):
            name = path.relative_to(golden.FOLDER)
            if path.is_file() and str(name) not in OWN:
                # A test may put the name together of a folder and a name.
                self.assertTrue(f'"{name}"' in sources or f'"{name.parent}/' in sources, f"no test compares with {name}")


if __name__ == "__main__":
    unittest.main()
