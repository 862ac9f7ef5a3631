# SPDX-License-Identifier: Apache-2.0
"""Compares a text as a whole with a file of this folder, the only place where tests keep whole texts.

    golden.expect(self, "cli/help.txt", golden.mask_figures(text))

`scripts/test --update-golden -R NAME` writes the files from what the tests of that name get; review the difference with
git. golden.hpp does the same for tests in C++.
"""
import difflib
import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def mask_figures(text):
    """Replaces each number by `#`, and several spaces or dashes by one: figures differ from run to run, so do widths."""
    text = re.sub(r"[-+]?\b\d[\d.]*(e[-+]?\d+)?", "#", text)
    return re.sub("-{2,}", "-", re.sub(" {2,}", " ", text))


def is_updating():
    return "TUTTI_UPDATE_GOLDEN" in os.environ and "CI" not in os.environ


def expect(test, name, text, folder=FOLDER):
    """Fails the test unless the text is that of the file."""
    path = folder / name
    if is_updating():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != expected:
        lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm="", n=1)
        test.fail("the text differs (to accept it: scripts/test --update-golden -R TEST)\n" + "\n".join(lines))
