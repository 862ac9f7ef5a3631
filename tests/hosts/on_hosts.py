# SPDX-License-Identifier: Apache-2.0
"""Runs the command on test hosts; skips, with the reason, where there can be none."""
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402
from tutti import records  # noqa: E402, F401  (for the tests)

TEST_HOSTS = tutti.ROOT / "scripts/testhosts"
NOT_ROOT, NO_NAMESPACES = 64, 77


class OnHosts(tutti.Folder):
    @classmethod
    def setUpClass(cls):
        if reason := tutti.mpi_missing():
            raise unittest.SkipTest(reason)
        trial = subprocess.run([TEST_HOSTS, "--on", "h0", "--", "true"], capture_output=True, text=True, check=False,
                               timeout=60)
        if trial.returncode in (NOT_ROOT, NO_NAMESPACES):
            raise unittest.SkipTest(trial.stderr.strip())

    def needs_delays(self):
        trial = subprocess.run([TEST_HOSTS, "--delay", "1us", "--on", "h0", "--", "true"], capture_output=True, text=True,
                               check=False, timeout=60)
        if trial.returncode != 0:
            self.skipTest(trial.stderr.strip())

    def run_on(self, hosts, *words, timeout=150):
        """`hosts` are words of scripts/testhosts, `words` those of tutti. It must end well."""
        done = subprocess.run([TEST_HOSTS, *map(str, hosts), "--", tutti.EXECUTABLE, *map(str, words)],
                              capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL,
                              env=tutti.CLEAN | {"XDG_CACHE_HOME": str(self.folder / "cache")})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done
