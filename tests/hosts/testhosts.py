# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/testhosts for the tests."""
import os
import re
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402  (found through the line above)

TESTHOSTS = str(tutti.ROOT / "scripts/testhosts")
SKIPPED, USAGE = 77, 64


def command(*words):
    return [TESTHOSTS, *map(str, words)]


def run(*words, timeout=60, **environment):
    """Its CompletedProcess with text; a hang ends the test, and the hosts with it. Skips the test if this machine lacks
    something that these hosts need."""
    done = run_or_fail(*words, timeout=timeout, **environment)
    if done.returncode == SKIPPED:
        raise unittest.SkipTest(done.stderr.strip())
    return done


def run_or_fail(*words, timeout=60, **environment):
    """The same, but exit code 77 is one like others."""
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, cwd=tutti.ROOT, env=tutti.CLEAN | environment)


def why_none():
    """Why there can be no hosts here; None if there can. Other usage errors are for the tests to find."""
    probe = run_or_fail("--on", "h0", "--", "true")
    cannot = probe.returncode == SKIPPED or (probe.returncode == USAGE and "only root" in probe.stderr)
    return probe.stderr.strip() if cannot else None


def program(file, function):
    """The words that call a function of this folder's file: what the ranks of a test run."""
    return [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(Path(file).parent)!r}); "
                                        f"import {Path(file).stem} as test; test.{function}()"]


def numbers(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"no '{pattern}' in: {text}")
    return [float(number) for number in found.groups()]


class Load:
    """How many processes run or want a core, looked at five times a second: the system's own average is of a minute, and
    late."""

    def __init__(self):
        self._samples = []
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self):
        while True:
            time.sleep(0.2)
            with open("/proc/loadavg", encoding="ascii") as file:
                self._samples.append(int(file.read().split()[3].partition("/")[0]) - 1)  # not this one

    def begin(self):
        self._samples = []

    def mean(self):
        samples = self._samples
        return sum(samples) / max(1, len(samples))


load_of_attempts = Load()
busy = []  # tests whose times were too disturbed to count


def attempts():
    """As often is tried what something else on this machine may disturb."""
    load_of_attempts.begin()
    return range(5)


def fail_unless_busy(test, wrong):
    """Fails the test by what was found in its attempts, unless so much else ran on this machine meanwhile that times do
    not count: our own ranks are a load of about two a core."""
    load, cores = load_of_attempts.mean(), os.cpu_count()
    if load > 3 * cores:
        busy.append(test.id())
        test.skipTest(f"this machine is busy (load {load:.0f} on {cores} cores): {wrong}")
    test.fail(wrong)


def main():
    """The tests; or exit 77 with the reason where there can be no hosts, or if one was skipped as others kept the machine
    busy and none failed."""
    if why := why_none():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    done = unittest.main(exit=False)
    if not done.result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if busy else 0)
