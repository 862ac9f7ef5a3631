# SPDX-License-Identifier: Apache-2.0
"""A job of MPI ranks that a test watches, harms and cleans up."""
import signal
import subprocess
import sys
from pathlib import Path

import tutti

sys.path.insert(0, str(tutti.ROOT / "scripts/lib"))
from processes import Process, descendants, name_of, wait_until  # noqa: E402  # pylint: disable=wrong-import-position


class Job:
    """`tutti bench` on two MPI ranks, with its records in `file`."""

    def __init__(self, file, *words, **environment):
        self.file = file
        self.log = file.with_suffix(".err")
        with open(self.log, "w", encoding="utf-8") as log:
            self.launcher = subprocess.Popen(
                [tutti.MPI_RUN, "2", tutti.EXECUTABLE, "bench", "all_reduce", "--json", str(file),
                 *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                env=tutti.CLEAN | environment)
        self.processes, self.ranks, self.shared_files = [], [], set()

    def wait_for_points(self, number):
        """Waits until this number of points is measured, and finds the processes."""
        wait_until(lambda: len(tutti.points(self.file)) >= number or self.launcher.poll() is not None,
                   f"{number} points are measured")
        if self.launcher.poll() is not None:
            raise AssertionError("ended too early: " + self.stderr())
        launch = next(record for record in tutti.records(self.file) if record["kind"] == "launch")
        self.ranks = [Process(place["pid"]) for place in launch["ranks"]]
        self.look_around()

    def look_around(self):
        """Finds all processes and shared files of this moment."""
        self.processes = descendants(self.launcher.pid)
        for process in self.processes:
            self.shared_files |= process.shared_files()

    def rank_that_starts(self, number):
        """The process of a rank, as soon as its supervisor has started it: before MPI_Init."""
        found = []

        def is_there():
            processes = descendants(self.launcher.pid)
            supervisors = {process.pid for process in processes if name_of(process) == "tutti-supervise"}
            try:
                children = {name_of(process): process for process in processes
                            if process.parent in supervisors and process.rank() == number}
            except OSError:
                return False  # one ended meanwhile
            if "tutti-cleaner" in children:  # the other one is the rank
                del children["tutti-cleaner"]
                found.extend(children.values())
            return found

        wait_until(is_there, f"rank {number} is there", pause=0.001)
        return found[0]

    def mpirun(self):
        """The launcher itself, which the script has started."""
        return next(process for process in self.processes
                    if process.parent == self.launcher.pid and name_of(process) != "cat")

    def end(self, seconds=120):
        """Waits for the end and returns the exit code."""
        return self.launcher.wait(timeout=seconds)

    def stderr(self):
        return self.log.read_text(encoding="utf-8")

    def said(self):
        return tutti.said(self.stderr())

    def left_behind(self):
        """Processes and shared files that should be gone."""
        return ([process.pid for process in self.processes if process.is_alive()] +
                [path for path in self.shared_files if Path(path).exists()])

    def clean_up(self):
        if self.launcher.poll() is None:
            self.processes += descendants(self.launcher.pid)
        for process in self.processes:
            self.shared_files |= process.shared_files()
        for process in self.processes:
            process.kill(signal.SIGKILL)
        self.launcher.kill()
        self.launcher.wait()
        for path in self.shared_files:
            Path(path).unlink(missing_ok=True)
