# SPDX-License-Identifier: Apache-2.0
"""Python modules that only some machines have."""

import importlib


def module(name):
    """Returns the module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
