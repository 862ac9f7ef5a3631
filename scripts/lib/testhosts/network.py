# SPDX-License-Identifier: Apache-2.0
"""The networks between the hosts: eth0 of each and a switch, eth1 of each and another switch. They are invisible outside."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .errors import Problem, cannot
from .host import Host

ROOT = Path(__file__).resolve().parents[3]

NETWORK_BITS = 16
MOST_HOSTS = 250
MOST_LINKS = 8
# The bucket holds the data of this time: with less, late timers of the kernel would reduce the rate.
BURST_SECONDS = 250e-6
LEAST_BURST = 64 * 1024        # the largest packet that TCP sends in one piece
QUEUE_SECONDS = 0.01           # a port of a switch keeps some milliseconds of traffic
LEAST_QUEUE = 512 * 1024
UP_SECONDS = 5
QUEUED_PIECES = 20             # in a host, before the sender has to wait


def address_of(index, network=0):
    return f"10.{77 + network}.0.{index + 1}"


def interface(network):
    return f"eth{network}"


def configure(host, *commands, tool="ip"):
    """Runs `ip` or `tc` within the host's network, several commands in one process."""
    text = "\n".join(commands) + "\n"
    done = subprocess.run(["nsenter", "--target", str(host.init), "--net", "--", tool, "-batch", "-"],
                          input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise cannot(f"no network for {host.name}: {(done.stderr.strip().splitlines() or ['no reason given'])[0]}")


def come_up(device, address):
    return f"addr add {address}/{NETWORK_BITS} brd + dev {device}", f"link set {device} up"


def bucket(device, rate):
    """Returns the command that limits a device to `rate` in bit/s."""
    burst = max(LEAST_BURST, int(rate / 8 * BURST_SECONDS))
    limit = max(LEAST_QUEUE, int(rate / 8 * QUEUE_SECONDS)) + burst
    return f"qdisc replace dev {device} root tbf rate {int(rate)}bit burst {burst} limit {limit}"


@dataclass(frozen=True)
class Link:
    """The link of a host, equal in both directions. Times in seconds, `rate` in bit/s (0: unlimited)."""

    rate: float = 0
    delay: float = 0
    jitter: float = 0
    loss: float = 0

    def needs_switch(self):
        return self.delay or self.jitter or self.loss


class Bridge:
    """A switch in the kernel, for links without delays: a bridge, with a pair of interfaces to each host.

    Token buckets at both ends (tc tbf) limit the rate: in the host, and in the bridge.
    """

    def __init__(self, hosts, links, mtu, number):
        """Connects the hosts. `links` by host name; the bridge has its own network namespace."""
        self._switch, self._device = Host("switch"), interface(number)
        try:
            configure(self._switch, "link add bridge0 type bridge", "link set bridge0 up")
            for index, host in enumerate(hosts):
                self._connect(host, address_of(index, number), links[host.name].rate, f"mtu {mtu}" if mtu else "")
        except BaseException:
            self.close()
            raise

    def _connect(self, host, address, rate, size):
        configure(self._switch, f"link add {host.name} {size} type veth peer name {self._device} {size} netns {host.init}",
                  f"link set {host.name} master bridge0 up")
        configure(host, *come_up(self._device, address))
        if rate:
            configure(self._switch, bucket(host.name, rate), tool="tc")
            configure(host, bucket(self._device, rate), tool="tc")

    def link(self, host, state):
        """Sets the link of a host "down" or "up", like its cable: both ends lose or get their carrier."""
        configure(self._switch, f"link set {host.name} {state}")

    def close(self):
        self._switch.close()


class DelaySwitch:
    """A switch for links with delays: the process tests/hosts/delay_switch.cpp, which moves the frames."""

    # Time on the link of the data moved at once: less costs CPU time.
    PIECE_SECONDS = 100e-6
    LEAST_PIECE, MOST_PIECE = 3000, 65536

    def __init__(self, hosts, links, mtu, number):
        program = os.environ.get("TUTTI_DELAY_SWITCH") or str(ROOT / "build/delay_switch")
        if not os.path.exists(program):
            raise Problem(f"links with delays need {program}; use scripts/build")
        ports = []
        for host in hosts:
            link = links[host.name]
            ports.append(f"{host.init},{link.rate},{link.delay * 1e9},{link.jitter * 1e9},{link.loss}")
        self._index = {host.name: index for index, host in enumerate(hosts)}
        device = interface(number)
        self._process = subprocess.Popen([program, device, *ports], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            if self._process.stdout.readline() != "ready\n":
                raise cannot(self._process.stderr.read().strip())
            for index, host in enumerate(hosts):
                rate = links[host.name].rate
                piece = min(max(rate / 8 * self.PIECE_SECONDS, self.LEAST_PIECE), self.MOST_PIECE) if rate else self.MOST_PIECE
                configure(host, f"link set {device} txqueuelen {QUEUED_PIECES} gso_max_size {int(piece)} {f'mtu {mtu}' if mtu else ''}",
                          *come_up(device, address_of(index, number)))
        except BaseException:
            self.close()
            raise

    def link(self, host, state):
        self._process.stdin.write(f"{state} {self._index[host.name]}\n")
        self._process.stdin.flush()

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()


class Networks:
    """Several networks with links of the same kind: interface i of each host is in network i."""

    def __init__(self, hosts, links, mtu, count):
        kind = DelaySwitch if any(links[host.name].needs_switch() for host in hosts) else Bridge
        self._by_interface = {}
        try:
            for number in range(count):
                self._by_interface[interface(number)] = kind(hosts, links, mtu, number)
            self._wait_until_up(hosts)
        except BaseException:
            self.close()
            raise

    def _wait_until_up(self, hosts):
        """The kernel reports up to a second later that a link is up, and programs use only such links."""
        files = [host.path(f"/sys/class/net/{device}/operstate") for host in hosts for device in self._by_interface]
        end = time.monotonic() + UP_SECONDS
        while any(file.read_text("ascii") == "down\n" for file in files):
            if time.monotonic() > end:
                raise cannot(f"the links of the hosts are not up after {UP_SECONDS} s")
            time.sleep(0.01)

    def link(self, host, state, device=""):
        """Sets one link of a host "down" or "up", or all of them."""
        for name, network in self._by_interface.items():
            if device in ("", name):
                network.link(host, state)

    def close(self):
        for network in self._by_interface.values():
            network.close()


def join(hosts, links, mtu, count=1):
    """Creates the networks between the hosts; `close` them before the hosts."""
    return Networks(list(hosts), links, mtu, count)
