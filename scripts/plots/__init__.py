# SPDX-License-Identifier: Apache-2.0
"""From results files to figures and a page: records -> sections -> figures and findings -> page."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))  # the package tutti, which reads the files
