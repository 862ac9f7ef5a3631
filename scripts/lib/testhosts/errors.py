# SPDX-License-Identifier: Apache-2.0
"""Why there can be no hosts here, or why what was typed means nothing."""

USAGE = 64        # as all commands of this project
NOT_POSSIBLE = 77  # what ctest takes for "skipped"


class Problem(Exception):
    """One line that says what is wrong and what to do, and the exit code."""

    def __init__(self, text, code=USAGE):
        super().__init__(text)
        self.code = code


def cannot(text):
    return Problem(text, NOT_POSSIBLE)
