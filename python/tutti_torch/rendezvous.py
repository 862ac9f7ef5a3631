# SPDX-License-Identifier: Apache-2.0
"""Connects the ranks of a process group, with the help of torch's store."""
import os
import secrets
import socket
from pathlib import Path

from tutti import library

KEY = "tutti_rendezvous"
LOOPBACK = "127.0.0.1"


def name_of_this_host():
    """Returns a text that is equal for all processes of a host."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return socket.gethostname() + " " + (boot.read_text(encoding="ascii").strip() if boot.exists() else "")


def own_address_towards(host):
    """Returns this host's address in the network of `host`; the loopback address if none is known."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((socket.gethostbyname(host), 9))  # sends nothing
            return probe.getsockname()[0]
    except OSError:
        return LOOPBACK


def join(store, rank, size, deadline):
    """Returns the handle of a communicator of these ranks. deadline: in seconds. Rank 0 listens at a free port."""
    master = os.environ.get("MASTER_ADDR", LOOPBACK)
    if rank == 0:
        with socket.socket() as listening:
            listening.bind(("", 0))
            listening.listen(1024)
            listening.setblocking(False)
            port, job = listening.getsockname()[1], secrets.token_hex(16)
            words = (name_of_this_host(), own_address_towards(master), str(port), job)
            store.set(KEY, "\n".join(words))
            return library.create("", f"tcp://{LOOPBACK}:{port}".encode(), 0, size, deadline=deadline, job=job, background=True,
                                  listening_socket=listening.detach())
    host, address, port, job = store.get(KEY).decode().split("\n")
    if host == name_of_this_host():
        address = LOOPBACK
    elif address.startswith("127."):
        address = master  # rank 0 runs on that host
    return library.create("", f"tcp://{address}:{port}".encode(), rank, size, deadline=deadline, job=job, background=True)
