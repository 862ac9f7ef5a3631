# SPDX-License-Identifier: Apache-2.0
"""Measures the network with a pair of ranks: h0 sends, h1 answers or counts."""
import os
import socket
import time

PORT = 5000
SECONDS = 1.0
SECOND_LINK_BYTES = 50_000


def is_first():
    return os.uname().nodename == "h0"


def connected():
    """Connects the two ranks."""
    if not is_first():
        with socket.create_server(("", PORT)) as server:
            return server.accept()[0]
    while True:
        try:
            return socket.create_connection(("h1", PORT))
        except OSError:
            time.sleep(0.01)


def ping():
    """Prints the minimum round trip time in microseconds."""
    with connected() as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not is_first():
            while data := peer.recv(1):
                peer.sendall(data)
            return
        times = []
        for _ in range(200):
            start = time.perf_counter()
            peer.sendall(b"x")
            peer.recv(1)
            times.append(time.perf_counter() - start)
            time.sleep(0.0005)
        print(f"round trip {min(times) * 1e6:.1f} us")


def stream():
    """Prints the rate of arrival in Mbit/s after the first third of the time."""
    with connected() as peer:
        if is_first():
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                peer.sendall(bytes(1 << 16))
            return
        buffer, start, count = bytearray(1 << 20), time.monotonic(), 0
        first = last = start
        while size := peer.recv_into(buffer):
            last = time.monotonic()
            if last - start < SECONDS / 3:
                first = last
            else:
                count += size
        print(f"goodput {count * 8 / (last - first) / 1e6:.1f} Mbit/s")


def clock():
    print(f"{os.uname().nodename} {time.monotonic()}")


def second_link():
    """Sends more than SECOND_LINK_BYTES to h1 by the second link of each host, where no program receives them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for _ in range(100):
            out.sendto(bytes(1000), ("10.78.0.2", PORT))
            time.sleep(0.002)
    time.sleep(0.1)
