# SPDX-License-Identifier: Apache-2.0
"""A place for the files of a test."""

import tempfile
import unittest
from pathlib import Path


class Folder(unittest.TestCase):
    """Each test has `folder`, which goes with it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
