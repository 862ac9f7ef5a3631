# SPDX-License-Identifier: Apache-2.0
"""Faults of hosts while the command runs, and their times."""

import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .errors import Problem, cannot
from .quantities import seconds

LAUNCHERS = ("mpirun", "mpiexec", "orte", "prte", "hydra_")
DAEMONS = ("orted", "prted", "hydra_pmi_proxy")


def link_down(host, network, device):
    network.link(host, "down", device)


def link_up(host, network, device):
    network.link(host, "up", device)


def reset(host, *_):
    """Breaks every connection of the host: both ends see a TCP reset."""
    break_connections(host, ["state", "established"])


def reset_ranks(host, *_):
    """Breaks the connections of the host except the launcher's."""
    daemons = {f"pid={process.inside}," for process in host.processes() if process.name.startswith(LAUNCHERS)}
    table = subprocess.run(host.inside(["ss", "-HOtnp", "state", "established"]), capture_output=True, text=True, check=False)
    ends = [line.split()[2:4] for line in table.stdout.splitlines() if not any(daemon in line for daemon in daemons)]
    expression = " or ".join(f"( sport = :{ours.rpartition(':')[2]} and dport = :{theirs.rpartition(':')[2]} )"
                             for ours, theirs in ends)
    if not expression:
        raise cannot(f"no rank on {host.name} has a connection")
    break_connections(host, ["state", "established", f"( {expression} )"])


def break_connections(host, which):
    done = subprocess.run(host.inside(["ss", "-HOtK", *which]), capture_output=True, text=True, check=False)
    if not done.stdout.strip():  # ss lists the connections that it has broken
        raise cannot(f"{host.name} has no connections, or this kernel cannot break them (CONFIG_INET_DIAG_DESTROY)")


def kill_daemon(host, *_):
    """Kills the launcher's process on the host, which has started the ranks there."""
    daemons = [process for process in host.processes() if process.name in DAEMONS]
    if not daemons:
        raise cannot(f"no launcher's daemon ({', '.join(DAEMONS)}) runs on {host.name}; on h0 it is mpirun itself")
    for process in daemons:
        os.kill(process.pid, signal.SIGKILL)


def power_off(host, *_):
    host.power_off()


KINDS = {"link down": link_down, "link up": link_up, "reset ranks": reset_ranks, "reset": reset,
         "kill daemon": kill_daemon, "power off": power_off}


@dataclass(frozen=True)
class Moment:
    """The time of a fault: seconds after the start, or the number of lines in a file."""

    after: float = 0
    file: str = ""
    lines: int = 0

    def has_come(self, passed):
        if not self.file:
            return passed >= self.after
        try:
            return Path(self.file).read_bytes().count(b"\n") >= self.lines
        except OSError:
            return False


@dataclass(frozen=True)
class Fault:
    moment: Moment
    kind: str
    host: str
    device: str = ""  # empty: all links of the host

    def __str__(self):
        return f"{self.kind} {self.host}" + (f":{self.device}" if self.device else "")


def fault(when, what):
    """Parses the arguments of --after."""
    counted = re.fullmatch(r"(.+):(\d+)", when)
    moment = Moment(file=counted[1], lines=int(counted[2])) if counted else Moment(after=seconds(when))
    for kind in KINDS:
        if what.startswith(kind + " "):
            host, colon, device = what[len(kind) + 1:].partition(":")
            if colon and KINDS[kind] not in (link_down, link_up):
                raise Problem(f"'{what}' concerns a whole host; use '{kind} {host}'")
            return Fault(moment, kind, host, device)
    raise Problem(f"'{what}' is not a fault; use one of: {', '.join(kind + ' HOST' for kind in KINDS)}")


class Saboteur:
    """Injects each fault at its time, in a thread; reports it by `say(line)`."""

    def __init__(self, faults, hosts, network, say):
        self._todo, self._hosts, self._network, self._say = list(faults), hosts, network, say
        self._over = threading.Event()
        self.failures = []
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self):
        start = time.monotonic()
        while self._todo and not self._over.wait(0.01):
            for due in [fault for fault in self._todo if fault.moment.has_come(time.monotonic() - start)]:
                self._todo.remove(due)
                self._commit(due, time.monotonic() - start)

    def _commit(self, due, passed):
        try:
            KINDS[due.kind](self._hosts[due.host], self._network, due.device)
            self._say(f"{due} at {passed:.2f} s")
        except Problem as problem:
            self.failures.append(str(problem))
        except OSError as error:  # e.g. the target has ended
            self.failures.append(f"'{due}' could not be injected: {error}")

    def stop(self):
        """Ends after the command. Faults that are not due yet are reported as failures."""
        self._over.set()
        self._thread.join()
        self.failures += [f"'{fault}' was not injected: the command ended before" for fault in self._todo]
