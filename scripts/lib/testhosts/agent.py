#!/usr/bin/env -S python3 -I -S -B
# SPDX-License-Identifier: Apache-2.0
"""Replaces ssh between test hosts: `agent HOST WORDS...` on one host runs a command line on another.

The hosts have separate process numbers and cannot access each other, so the program outside runs the command: it listens
on a socket in a host's /run, and the agent sends it the command with its input, output and error files.
"""

import array
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

SOCKET = "/run/testhosts.socket"
DISCONNECTED = 255  # ssh's exit code


class Server:
    """Runs commands of agents until the program ends; `hosts` by name."""

    def __init__(self, hosts, environment):
        self._hosts, self._environment = hosts, environment
        for host in hosts.values():
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(str(host.path(SOCKET)))
            listener.listen(128)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            text, ancillary, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(3 * array.array("i").itemsize))
            files = array.array("i")
            for _, _, data in ancillary:
                files.frombytes(data)
            try:
                request = json.loads(text)
                code = self._run(request, files)
            finally:
                for file in files:
                    os.close(file)
            try:
                connection.sendall(json.dumps(code).encode())
            except OSError:
                pass  # the agent was killed

    def _run(self, request, files):
        host = self._hosts.get(request["host"])
        if host is None or not host.is_on:
            os.write(files[2], f"testhosts: no route to host {request['host']}\n".encode())
            return DISCONNECTED
        child = subprocess.Popen(host.inside(["sh", "-c", request["line"]], request["folder"]),
                                 stdin=files[0], stdout=files[1], stderr=files[2],
                                 env=self._environment, start_new_session=True)
        code = child.wait()
        return code if code >= 0 else DISCONNECTED


def ask(arguments):
    """The main program: ignores a launcher's options for ssh; returns the exit code."""
    while arguments and arguments[0].startswith("-"):
        arguments = arguments[1:]
    host, *words = arguments
    request = json.dumps({"host": host, "line": " ".join(words), "folder": os.getcwd()}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(SOCKET)
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
        connection.sendmsg([request], [rights])
        answer = connection.recv(64)
    return json.loads(answer) if answer else DISCONNECTED


def executable():
    """Returns its path; the file is executable, for launchers that accept only a program."""
    return str(Path(__file__).resolve())


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1:]))
