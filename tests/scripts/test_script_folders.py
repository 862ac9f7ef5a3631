#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts that check and compare are called from any folder, and make none that a typing error names."""
import os
import subprocess
import unittest
from pathlib import Path

from folder import Folder

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


class ScriptFolders(Folder):
    def call(self, name, *arguments):
        path = os.path.relpath(SCRIPTS / name, self.folder)
        return subprocess.run([path, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=30, check=False)

    def test_help_is_found_by_a_relative_path(self):
        done = self.call("check_model", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("scripts/check_model [--ranks", done.stdout)

    def test_a_folder_without_results_is_refused_and_not_made(self):
        for name in ("compare_auto", "check_tuning"):
            done = self.call(name, "--summarise", "mistyped")
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("mistyped has no", done.stderr)
            self.assertFalse((self.folder / "mistyped").exists())


if __name__ == "__main__":
    unittest.main()
