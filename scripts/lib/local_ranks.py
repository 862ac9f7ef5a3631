# SPDX-License-Identifier: Apache-2.0
"""Starts ranks of a PyTorch program on this machine, with torchrun's environment variables."""

import os
import socket
import subprocess

# Without OpenBLAS Debian's torch uses the reference library for matrices, which is ten times slower.
MISSING = ("this Python has no torch; use e.g. apt-get install --no-install-recommends python3-torch "
           "libopenblas0-pthread; /usr/bin/python3 scripts/{program} ...\n")


def start(command, ranks, **more):
    """Runs the ranks and returns the first exit code that is not 0; then ends the other ranks, which would wait. `more`: variables."""
    common = {**os.environ, **more, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()),
              "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),  # ranks share the cores
              "USE_LIBUV": os.environ.get("USE_LIBUV", "0")}  # Debian 13 builds torch without it, but torch uses it by default
    running = [subprocess.Popen(command, env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)]
    code = 0
    while running:
        for process in list(running):
            try:
                ended = process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            running.remove(process)
            if ended and not code:
                code = ended
                for other in running:
                    other.terminate()
    return code


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
