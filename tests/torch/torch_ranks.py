# SPDX-License-Identifier: Apache-2.0
"""Runs programs of several ranks with torch."""
import os
import signal
import socket
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def python_with_torch():
    """Returns an interpreter that has torch.distributed, and None; or None and the reason."""
    reasons = []
    for python in dict.fromkeys((os.environ.get("TUTTI_PYTHON_WITH_TORCH", sys.executable), "/usr/bin/python3")):
        tried = subprocess.run([python, "-c", "import torch.distributed as d; assert d.is_available()"], capture_output=True, text=True,
                               check=False, timeout=100)
        if tried.returncode == 0:
            return python, None
        reasons.append(f"{python}: {tried.stderr.strip().splitlines()[-1]}")
    return None, "; ".join(reasons)


def environment(rank, ranks, port):
    library = os.environ.get("TUTTI_C_LIBRARY", str(ROOT / "build/libtutti_c.so"))
    return os.environ | {"PYTHONPATH": str(ROOT / "python"), "TUTTI_C_LIBRARY": library, "OMP_NUM_THREADS": "1", "RANK": str(rank),
                         "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "LOCAL_RANK": str(rank),
                         "USE_LIBUV": "0"}  # Debian 13 builds torch without libuv, but torch uses it by default


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ranks:
    """Starts a program on several ranks, like torchrun."""

    def __init__(self, python, ranks, program, *words):
        port = free_port()
        self.processes = [subprocess.Popen([python, "-B", HERE / program, *map(str, words)], stdout=subprocess.PIPE, text=True,
                                           stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment(rank, ranks, port))
                          for rank in range(ranks)]

    def end(self, seconds=200):
        """Returns (exit code, stdout, stderr) of each rank."""
        try:
            return [(process.returncode, out, err) for process in self.processes
                    for out, err in [process.communicate(timeout=seconds)]]
        finally:
            self.clean_up()

    def clean_up(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()


class TorchTest(unittest.TestCase):
    python = None

    def run_ranks(self, ranks, program, *words):
        """Returns stdout of each rank. All ranks must succeed."""
        ended = Ranks(self.python, ranks, program, *words).end()
        for rank, (code, _, err) in enumerate(ended):
            self.assertEqual(code, 0, f"rank {rank} of {ranks}: " + "\n".join(each[2] for each in ended) + err)
        return [out for _, out, _ in ended]


def main():
    """Runs the tests. Without torch, prints the reason and exits with code 77."""
    TorchTest.python, reason = python_with_torch()
    if TorchTest.python is None:
        print(f"skipped: no torch ({reason}); on Debian use: apt-get install python3-torch")
        sys.exit(SKIPPED)
    unittest.main()
