# SPDX-License-Identifier: Apache-2.0
"""Options and errors of the scripts of `tutti report`, `results` and of pictures."""

import argparse
import codecs
import signal
import sqlite3
import sys
import traceback
from pathlib import Path

from .lines import ResultsError
from .printable import in_line

USAGE_ERROR = 64
PLAIN = {"\u00b5": "u", "\u00b1": "+-", "\u00d7": "x", "\u2013": "-"}


class Parser(argparse.ArgumentParser):
    """One line for a usage error, as `tutti` itself does."""

    def __init__(self, *words, example="", **named):
        super().__init__(*words, allow_abbrev=False, **named)
        self.example = example

    def error(self, message):
        self.exit(USAGE_ERROR, f"{self.prog}: {message}; use for example: {self.example}\n")


def run(name, action, output):
    """The exit code of action(), which raises what cannot be done; 0 if it says none. `output` is the file that it writes."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="plain")
    try:
        code = action() or 0
        sys.stdout.flush()
    except ResultsError as error:
        return _refuse(name, error)
    except sqlite3.Error as error:
        return _refuse(name, f"the database cannot be read: {error}; import the results files into a new one")
    except OSError as error:
        # Errors while closing a file, such as a full disk, do not name the file.
        return _refuse(name, f"cannot write '{error.filename or output}': {error.strerror}; use another file")
    except Exception:  # a fault of ours: Python's own exit code for it, 1, is a verdict
        traceback.print_exc()
        return USAGE_ERROR
    return code


def _plain(error):
    """Returns the nearest text for characters that a stream cannot write, such as the micro sign in ASCII."""
    return "".join(PLAIN.get(letter, "?") for letter in error.object[error.start:error.end]), error.end


def say(line):
    """Prints a line with texts of others in it."""
    print(in_line(line))


def needs(module, package):
    """The error for a missing Python module."""
    return ResultsError(f"no Python module {module} in {sys.executable}; use: apt-get install {package}, and run with "
                        "/usr/bin/python3")


def _refuse(name, reason):
    print(f"{name}: {in_line(reason)}", file=sys.stderr)
    return USAGE_ERROR


def make_folder(path):
    """With those above it."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"cannot make the folder '{path}': {error.strerror}; use another one") from None


def require_writable(path):
    """Before work is done for it; makes its folder, as --json of the other commands does. What was there stays."""
    path = Path(path)
    existed = path.exists()
    if path.parent != Path():
        make_folder(path.parent)
    try:
        with open(path, "ab"):
            pass
    except OSError as error:
        raise ResultsError(f"cannot write '{path}': {error.strerror}; use another file") from None
    if not existed:
        path.unlink()
