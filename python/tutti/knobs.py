# SPDX-License-Identifier: Apache-2.0
"""The knobs of configurations, in their order: the list of base/configuration.hpp, as `tutti list --json` prints it.

scripts/check_docs --write updates knobs.json, and a test compares both."""

import json
from pathlib import Path

KNOBS = json.loads(Path(__file__).with_name("knobs.json").read_text(encoding="utf-8"))
