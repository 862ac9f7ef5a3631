# SPDX-License-Identifier: Apache-2.0
"""The wires: a bridge in a network namespace of its own, and a pair of interfaces from it to eth0 of each host.

A rate is kept by a token bucket at both ends of a wire (tc tbf): what the host sends, and what the bridge sends to it.
"""

import subprocess

from .errors import cannot

NETWORK_BITS = 16
MOST_HOSTS = 250
# The bucket holds as much as a link sends in this time: less, and a late timer of the kernel costs rate.
BURST_SECONDS = 250e-6
LEAST_BURST = 64 * 1024        # the largest packet that TCP hands down in one piece
QUEUE_SECONDS = 0.01           # a port of a switch keeps some milliseconds of traffic
LEAST_QUEUE = 512 * 1024


def address_of(index):
    return f"10.77.0.{index + 1}"


def configure(host, *commands, tool="ip"):
    """`ip` or `tc` within the host's network; a sequence of commands is one process."""
    text = "\n".join(commands) + "\n"
    done = subprocess.run(["nsenter", "--target", str(host.init), "--net", "--", tool, "-batch", "-"],
                          input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise cannot(f"no network for {host.name}: {(done.stderr.strip().splitlines() or ['no reason given'])[0]}")


def bucket(device, rate):
    """`rate` in bit/s."""
    burst = max(LEAST_BURST, int(rate / 8 * BURST_SECONDS))
    limit = max(LEAST_QUEUE, int(rate / 8 * QUEUE_SECONDS)) + burst
    return f"qdisc replace dev {device} root tbf rate {int(rate)}bit burst {burst} limit {limit}"


class Bridge:
    def __init__(self, switch, hosts, rates, mtu):
        """Joins the hosts. `switch` is a host for the bridge alone; `rates` in bit/s by host name, None for no limit."""
        self._switch = switch
        configure(switch, "link add bridge0 type bridge", "link set bridge0 up")
        for host in hosts:
            size = f"mtu {mtu}" if mtu else ""
            configure(switch,
                      f"link add {host.name} {size} type veth peer name eth0 {size} netns {host.init}",
                      f"link set {host.name} master bridge0 up")
            configure(host, f"addr add {host.address}/{NETWORK_BITS} brd + dev eth0", "link set eth0 up")
            if rates[host.name]:
                configure(switch, bucket(host.name, rates[host.name]), tool="tc")
                configure(host, bucket("eth0", rates[host.name]), tool="tc")

    def link(self, host, state):
        """The cable of a host pulled out ("down") or put back ("up"): both ends lose or find their carrier."""
        configure(self._switch, f"link set {host.name} {state}")
