# SPDX-License-Identifier: Apache-2.0
"""A host: namespaces that exist as long as an init process, which runs as long as its standard input is open.

So whatever ends this program, even SIGKILL, closes that pipe and ends every host with all its processes. Nothing has a
name outside (no `ip netns`, no file in /tmp), so nothing can remain.
"""

import os
import subprocess
from pathlib import Path

from . import processes
from .errors import cannot

# Gives the host its own /dev/shm and /run (empty), /sys (its network interfaces, the machine's cgroups), /etc/hosts and
# host name. Then it waits for the end of its input; as it ignores SIGCHLD, the kernel reaps orphans.
BECOME_HOST = r"""
set -e
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 1777 /run/lock /run/tmp
if [ -d /sys/fs/cgroup ]; then mkdir /run/cgroup; mount --rbind /sys/fs/cgroup /run/cgroup; fi
mount -t sysfs sysfs /sys
if [ -d /run/cgroup ]; then mount --rbind /run/cgroup /sys/fs/cgroup; umount -l /run/cgroup; rmdir /run/cgroup; fi
printf '%s' "$2" >/run/hosts
mount --bind /run/hosts /etc/hosts
echo "$1" >/proc/sys/kernel/hostname
ip link set lo up
echo ready
exec env --ignore-signal=CHLD cat >/dev/null 2>&1
"""
KINDS = ("--net", "--uts", "--ipc", "--pid", "--mount")


class Host:
    def __init__(self, name, address="", known_hosts="", clock_offset=0):
        """Creates its namespaces; network.py adds an interface. `known_hosts` is its /etc/hosts."""
        self.name, self.address, self.is_on = name, address, True
        self.kinds = KINDS + (("--time",) if clock_offset else ())
        offset = ("--monotonic", str(clock_offset)) if clock_offset else ()
        self._outer = subprocess.Popen(
            ["unshare", *self.kinds, *offset, "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", BECOME_HOST, "init", name, known_hosts],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        if self._outer.stdout.readline() != "ready\n":
            self._outer.stdin.close()
            why = self._outer.stderr.read().strip().splitlines() or ["no reason given"]
            raise cannot(f"no namespaces for {name}: {why[-1]}")
        self.init, = processes.children(self._outer.pid)

    def inside(self, command, folder=None):
        """Returns the command that runs another one on this host, from outside."""
        where = ["env", "-C", str(folder)] if folder else []
        return ["nsenter", "--target", str(self.init), *self.kinds, "--", *where, *command]

    def processes(self):
        return processes.in_pid_namespace_of(self.init)

    def path(self, inside):
        """Returns the path of a file of this host from outside."""
        return Path(f"/proc/{self.init}/root") / inside.lstrip("/")

    def traffic(self):
        """Returns the bytes (received, sent) by interface; None if the host is off."""
        try:
            lines = Path(f"/proc/{self.init}/net/dev").read_text("utf-8").splitlines()
        except OSError:
            return None
        fields = {name.strip(): numbers.split() for name, colon, numbers in (line.partition(":") for line in lines) if colon}
        return {name: (int(numbers[0]), int(numbers[8])) for name, numbers in sorted(fields.items()) if name.startswith("eth")}

    def power_off(self):
        """Kills all its processes at once. The kernel closes their connections, so peers see a FIN or a reset; a real
        host without power would be silent, like one with its link down."""
        if self.is_on:
            self.is_on = False
            if self._outer.poll() is None:  # else the number of init may belong to another process
                try:
                    os.kill(self.init, 9)
                except ProcessLookupError:
                    pass
            self._outer.wait()

    def close(self):
        self.power_off()
        for pipe in (self._outer.stdin, self._outer.stdout, self._outer.stderr):
            pipe.close()
