# SPDX-License-Identifier: Apache-2.0
"""Errors: this machine cannot have hosts, or the command line is wrong."""

USAGE = 64        # like all commands of this project
NOT_POSSIBLE = 77  # means "skipped" in ctest


class Problem(Exception):
    """An error: one line with problem and cure, and the exit code."""

    def __init__(self, text, code=USAGE):
        super().__init__(text)
        self.code = code


def cannot(text):
    return Problem(text, NOT_POSSIBLE)
