# SPDX-License-Identifier: Apache-2.0
"""Parses times and rates."""

import re

from .errors import Problem

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
BITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def _read(text, units, what, example):
    found = re.fullmatch(r"(-?\d+(?:\.\d*)?)([a-z]+)", text.lower())
    if not found or found[2] not in units:
        raise Problem(f"'{text}' is not a {what}; use a number with one of {', '.join(units)}, e.g. {example}")
    return float(found[1]) * units[found[2]]


def seconds(text):
    return _read(text, SECONDS, "time", "100us")


def bits_per_second(text):
    rate = _read(text, BITS, "rate", "1gbit")
    if rate < 1e4:
        raise Problem(f"'{text}' is too slow; use at least 10kbit")
    return rate


def percent(text):
    """Returns a probability."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?)%?", text)
    if not found or float(found[1]) > 100:
        raise Problem(f"'{text}' is not a share; use percent, e.g. 0.1%")
    return float(found[1]) / 100
