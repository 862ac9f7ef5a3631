# SPDX-License-Identifier: Apache-2.0
"""Processes of this machine, by parent and by host."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    inside: int  # its number within its host
    parent: int
    name: str
    state: str


def read(pid):
    """Returns the process, or None if it has ended."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
                      if ":" in line)
        return Process(pid, int(fields["NSpid"].split()[-1]), int(fields["PPid"]), fields["Name"].strip(),
                       fields["State"].split()[0])
    except (OSError, KeyError):
        return None


def everything():
    return filter(None, (read(int(name)) for name in os.listdir("/proc") if name.isdigit()))


def children(parent):
    return [process.pid for process in everything() if process.parent == parent]


def in_pid_namespace_of(init):
    """Returns all processes of the host except init and zombies; none if init has ended."""
    try:
        namespace = os.readlink(f"/proc/{init}/ns/pid")
    except OSError:
        return []
    found = []
    for process in everything():
        try:
            if process.pid != init and process.state not in "ZX" and os.readlink(f"/proc/{process.pid}/ns/pid") == namespace:
                found.append(process)
        except OSError:
            pass  # it ended meanwhile
    return found
