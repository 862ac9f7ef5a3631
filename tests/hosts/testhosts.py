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
import tutti  # noqa: E402  (found by the line above)

TESTHOSTS = str(tutti.ROOT / "scripts/testhosts")
SKIPPED, USAGE = 77, 64
# Open MPI's launcher prints this if the process that it starts for a host has set its own group already.
HARMLESS = re.compile(r"^\[h\d+:\d+\] plm:rsh: Warning: setpgid\(.*\n", re.MULTILINE)


def command(*words):
    return [TESTHOSTS, *map(str, words)]


def run(*words, timeout=60, **environment):
    """Returns its CompletedProcess with text; a hang ends the test and the hosts. Skips the test if this machine lacks
    something that the hosts need."""
    done = run_or_fail(*words, timeout=timeout, **environment)
    if done.returncode == SKIPPED:
        raise unittest.SkipTest(done.stderr.strip())
    return done


def run_or_fail(*words, timeout=60, **environment):
    """Does the same without skipping at exit code 77."""
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, cwd=tutti.ROOT, env=tutti.CLEAN | environment)
    done.stderr = HARMLESS.sub("", done.stderr)
    return done


def why_none():
    """Returns why this machine cannot have hosts, or None. The tests find other usage errors."""
    probe = run_or_fail("--on", "h0", "--", "true")
    cannot = probe.returncode == SKIPPED or (probe.returncode == USAGE and "only root" in probe.stderr)
    return probe.stderr.strip() if cannot else None


def program(file, function):
    """Returns the command by which ranks of a test call a function of a file in this folder."""
    return [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(Path(file).parent)!r}); "
                                        f"import {Path(file).stem} as test; test.{function}()"]


def numbers(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"no '{pattern}' in: {text}")
    return [float(number) for number in found.groups()]


class Load:
    """Samples the number of runnable processes five times a second; the system's average over a minute is too slow."""

    def __init__(self):
        self._samples = []
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self):
        while True:
            time.sleep(0.2)
            with open("/proc/loadavg", encoding="ascii") as file:
                self._samples.append(int(file.read().split()[3].partition("/")[0]) - 1)  # without this process

    def begin(self):
        self._samples = []

    def mean(self):
        samples = self._samples
        return sum(samples) / max(1, len(samples))


load_of_attempts = Load()
busy = []  # tests whose times were too disturbed


def attempts():
    """The number of attempts of a test that other programs may disturb."""
    load_of_attempts.begin()
    return range(5)


def fail_unless_busy(test, wrong):
    """Fails the test with the results of its attempts, or skips it if other programs kept the machine busy: the ranks
    alone are a load of about two per core."""
    load, cores = load_of_attempts.mean(), os.cpu_count()
    if load > 3 * cores:
        busy.append(test.id())
        test.skipTest(f"this machine is busy (load {load:.0f} on {cores} cores): {wrong}")
    test.fail(wrong)


def main():
    """Runs the tests. Exits with 77 and the reason if this machine cannot have hosts, or if a test was skipped because the
    machine was busy and none failed."""
    if why := why_none():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    done = unittest.main(exit=False)
    if not done.result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if busy else 0)
