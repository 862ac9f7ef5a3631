# SPDX-License-Identifier: Apache-2.0
"""Checks that no process, interface or file remains, however a run ends."""
import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import testhosts
import tutti

sys.path.insert(0, str(tutti.ROOT / "tests/cli"))
from job import wait_until  # noqa: E402  (found by the line above)


class CleanUp(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.mark = f"TESTHOSTS_TEST={uuid.uuid4()}"

    def start(self, *words):
        """Starts testhosts with a mark that identifies all its processes."""
        name, value = self.mark.split("=")
        self.files_before = set(os.listdir("/tmp"))
        self.interfaces = os.listdir("/sys/class/net")
        job = subprocess.Popen(testhosts.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                               env=tutti.CLEAN | {name: value, "TMPDIR": str(self.folder)})
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.kill)
        return job

    def processes(self):
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass  # it ended meanwhile
        return found

    def assert_nothing_left(self):
        wait_until(lambda: not self.processes(), "its processes are gone, and so its namespaces", seconds=10)
        self.assertEqual(sorted(os.listdir("/sys/class/net")), sorted(self.interfaces))
        of_hosts = [name for name in set(os.listdir("/tmp")) - self.files_before if re.match(r"ompi\.h\d", name)]
        self.assertEqual(of_hosts, [])

    def check(self, end, *words):
        job = self.start(*words)
        first = job.stdout.readline()
        if not first and job.wait(timeout=20) == testhosts.SKIPPED:
            self.skipTest("this machine lacks what these hosts need; scripts/testhosts says what")
        self.assertEqual(first, "here\n")
        self.assertTrue(self.processes())
        end(job)
        code = job.wait(timeout=20)
        self.assertNotEqual(code, 0)
        self.assert_nothing_left()
        return code

    # The first line means that all hosts are up.
    SLEEP = ("--", "sh", "-c", "echo here; sleep 100")

    def test_after_its_own_end(self):
        job = self.start("--on", "h0", "--", "true")
        self.assertEqual(job.wait(timeout=20), 0)
        self.assert_nothing_left()

    @tutti.needs_mpi
    def test_after_sigterm(self):
        self.assertEqual(self.check(lambda job: job.terminate(), *self.SLEEP), 128 + signal.SIGTERM)

    @tutti.needs_mpi
    def test_after_ctrl_c_which_the_whole_process_group_gets(self):
        self.assertEqual(self.check(lambda job: os.killpg(job.pid, signal.SIGINT), *self.SLEEP), 128 + signal.SIGINT)
        self.assertEqual(os.listdir(self.folder), [])

    @tutti.needs_mpi
    def test_after_sigkill(self):
        self.check(lambda job: job.kill(), *self.SLEEP)

    @tutti.needs_mpi
    def test_after_sigkill_with_the_switch_for_delays(self):
        self.check(lambda job: job.kill(), "--delay", "1us", *self.SLEEP)

    def test_after_a_failure_on_the_way(self):
        job = self.start("--mtu", 1, "--on", "h0", "--", "true")  # the kernel rejects it
        self.assertEqual(job.wait(timeout=20), testhosts.SKIPPED)
        self.assert_nothing_left()


if __name__ == "__main__":
    testhosts.main()
