# SPDX-License-Identifier: Apache-2.0
"""The knobs of configurations, in their order: the list of base/configuration.hpp, as `tutti list --json` prints it.

scripts/check_docs --write updates knobs.json, and a test compares both."""

import json
from pathlib import Path

KNOBS = json.loads(Path(__file__).with_name("knobs.json").read_text(encoding="utf-8"))


def in_words(knob, value):
    """A value as Knob::text_of in base/configuration.hpp shows it: "cache+host", or the number of a knob without words."""
    words = dict(enumerate(knob["words"]))
    if knob["form"] == "set":
        return "+".join(words.get(place, "") for place in range(value.bit_length()) if value >> place & 1)
    if knob["form"] == "list":
        return "+".join(words.get(int(digit, 16) - 1, "") for digit in reversed(f"{value:x}"))
    return value
