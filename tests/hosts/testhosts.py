# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/testhosts for the tests."""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402  (found through the line above)

TESTHOSTS = str(tutti.ROOT / "scripts/testhosts")
SKIPPED, USAGE = 77, 64


def command(*words):
    return [TESTHOSTS, *map(str, words)]


def run(*words, timeout=60, **environment):
    """Its CompletedProcess with text; a hang ends the test, and the hosts with it."""
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, cwd=tutti.ROOT, env=tutti.CLEAN | environment)


def program(file, function):
    """The words that call a function of this folder's file: what the ranks of a test run."""
    return [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(Path(file).parent)!r}); "
                                        f"import {Path(file).stem} as test; test.{function}()"]


def numbers(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"no '{pattern}' in: {text}")
    return [float(number) for number in found.groups()]


def judge(test, wrong):
    """Fails the test by what was found, unless so much else runs on this machine that times tell nothing: our own
    ranks are a load of about two a core."""
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > 3 * cores:
        test.skipTest(f"this machine is busy (load {load:.0f} on {cores} cores): {wrong}")
    test.fail(wrong)


def main():
    """The tests, or exit 77 with the reason where there can be no hosts."""
    probe = run("--on", "h0", "--", "true")
    if probe.returncode in (SKIPPED, USAGE):
        print(f"skipped: {probe.stderr.strip()}")
        sys.exit(SKIPPED)
    unittest.main()
