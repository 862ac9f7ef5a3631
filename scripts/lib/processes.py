# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, for tests and scripts/soak, which watch jobs and inject faults."""
import os
import re
import time
from pathlib import Path


class Process:
    """A process, which is not confused with another one that gets its number later."""

    def __init__(self, pid):
        self.pid = pid
        self.born = self._stat()[19]

    def _stat(self):
        text = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return text[text.rindex(")") + 2:].split()  # from the third field on: the state

    @property
    def parent(self):
        return int(self._stat()[1])

    def state(self):
        """The letter of ps: R, S, T (stopped) ..."""
        return self._stat()[0]

    def cpu_seconds(self):
        in_user_space, in_kernel = map(int, self._stat()[11:13])
        return (in_user_space + in_kernel) / os.sysconf("SC_CLK_TCK")

    def is_alive(self):
        try:
            stat = self._stat()
        except OSError:
            return False
        return stat[19] == self.born and stat[0] not in "ZX"

    def name(self):
        return Path(f"/proc/{self.pid}/comm").read_text(encoding="utf-8").strip()

    def rank(self):
        """Returns its rank under a launcher, or None."""
        environment = Path(f"/proc/{self.pid}/environ").read_bytes().decode(errors="replace")
        number = re.search(r"(?:^|\0)(?:OMPI_COMM_WORLD_RANK|PMI_RANK|SLURM_PROCID)=(\d+)\0", environment)
        return int(number[1]) if number else None

    def kill(self, what):
        if self.is_alive():
            os.kill(self.pid, what)

    def shared_files(self):
        """Returns the files in /dev/shm that it has mapped."""
        try:
            maps = Path(f"/proc/{self.pid}/maps").read_text(encoding="utf-8")
        except OSError:
            return set()
        return set(re.findall(r"/dev/shm/\S+$", maps, re.MULTILINE))


def descendants(ancestor):
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                process = Process(int(entry.name))
                children.setdefault(process.parent, []).append(process)
            except OSError:
                pass  # it ended meanwhile
    found, todo = [], [ancestor]
    while todo:
        young = children.get(todo.pop(), [])
        found += young
        todo += [process.pid for process in young]
    return found


def name_of(process):
    try:
        return process.name()
    except OSError:
        return None  # it ended meanwhile


def wait_until(condition, what, seconds=120, pause=0.02):
    """Waits for an event; the limit matters only if it never comes."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s in vain until {what}")
        time.sleep(pause)
