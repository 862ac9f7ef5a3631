# SPDX-License-Identifier: Apache-2.0
"""`tutti bench --aggressor` measures each candidate alone and next to a program, which runs only meanwhile."""
import os
import signal
import subprocess
import sys
import time
import unittest

import tutti
from tutti import QUICK

sys.path.insert(0, str(tutti.ROOT / "scripts/lib"))
from processes import Process, descendants, wait_until  # noqa: E402  # pylint: disable=wrong-import-position

SMALL = ("bench", "all_reduce", "--counts", "64,4096", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none",
         "--ranks", "2", "--inplace", "both")


# Notes the time a thousand times a second.
NOTES_TIMES = """
import sys
import time
with open(sys.argv[1], "a", 1) as log:
    while True:
        print(time.monotonic(), file=log)
        time.sleep(0.001)
"""


class Aggressor(tutti.Folder):
    def bench(self, *words, **settings):
        file = self.folder / "out.jsonl"
        return tutti.run(*SMALL, *words, "--json", file, **settings), tutti.points(file)

    def test_each_candidate_is_measured_alone_and_next_to_it(self):
        done, points = self.bench("--aggressor", "cpu", "--aggressor", "memory:2", *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {(point["key"].get("aggressor", ""), point["key"]["algo"], point["key"]["count"], point["key"]["inplace"])
                 for point in points}
        self.assertEqual(found, {(aggressor, algorithm, count, inplace) for aggressor in ("", "cpu", "memory:2")
                                 for algorithm in ("ring", "tree") for count in (64, 4096) for inplace in (False, True)})
        self.assertEqual(len(points), len(found))
        self.assertTrue(all(point["check"]["state"] == "ok" for point in points))
        self.assertIn("# next to cpu\n", done.stdout)
        self.assertIn(", next to memory:2:", done.stdout)
        # The records print the same tables later.
        shown = tutti.run("show", self.folder / "out.jsonl").stdout
        self.assertIn(", next to memory:2:", shown)
        # Guidelines are about hosts without other load.
        checked = tutti.run("check-guidelines", self.folder / "out.jsonl")
        self.assertNotIn("cpu", checked.stdout)

    def test_the_program_runs_only_during_its_batches(self):
        """It notes the time again and again: it is stopped while the candidates are measured alone."""
        log = self.folder / "log"
        program = self.folder / "program.py"
        program.write_text(NOTES_TIMES, encoding="utf-8")
        done, points = self.bench("--aggressor", f"exec {sys.executable} {program} {log}", "-n", "4", "--batch-time", "50ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({point["key"].get("aggressor", "")[:4] for point in points}, {"", "exec"})
        times = [float(line) for line in log.read_text().splitlines()]
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        # Two sizes and two placements, each with batches alone between those next to the program.
        self.assertGreaterEqual(sum(gap > 0.015 for gap in gaps), 4)
        self.assertGreater(len(times), 20)
        stopped_at = log.stat().st_size
        time.sleep(0.1)
        self.assertEqual(log.stat().st_size, stopped_at, "the program still runs")

    def test_no_program_is_left_behind_when_the_ranks_are_killed(self):
        log = self.folder / "pids"
        job = subprocess.Popen([tutti.EXECUTABLE, *SMALL, "--aggressor", f"echo $$ > {log}; while :; do sleep 0.01; done",
                                "--max-time", "60s", "--target-ci", "0.001%"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=tutti.CLEAN)
        self.addCleanup(job.kill)
        wait_until(lambda: log.exists() and log.read_text().endswith("\n"), "the program has started")
        processes = descendants(job.pid)
        self.assertIn(int(log.read_text()), [process.pid for process in processes])
        job.send_signal(signal.SIGKILL)
        job.wait()
        wait_until(lambda: not any(process.is_alive() for process in processes), "the program is gone")

    def test_a_stopped_program_is_not_left_behind_either(self):
        """A process starts one, which is stopped at first, and is killed."""
        code = ("import os, subprocess\n"
                f"child = subprocess.Popen([{tutti.EXECUTABLE!r}, 'aggressor', '--parent', str(os.getpid()), 'cpu'],\n"
                "                         stdout=subprocess.PIPE, process_group=0, text=True)\n"
                "print(child.pid, *child.stdout.readline().split()[1:], flush=True)\n"
                "input()\n")
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            self.addCleanup(parent.kill)
            numbers = parent.stdout.readline().split()
            found = [Process(int(number)) for number in numbers]
            states = [process.state() for process in found]
            parent.kill()
        self.assertEqual(states[1:], ["T"])
        supervisor, worker = found
        wait_until(lambda: not supervisor.is_alive() and not worker.is_alive(), "both are gone")

    def test_each_host_has_one_under_a_launcher_too(self):
        """Whatever rank the launcher gave to the process that starts it."""
        for rank in ("0", "1"):
            with subprocess.Popen([tutti.EXECUTABLE, "aggressor", "--parent", str(os.getpid()), "cpu"], stdout=subprocess.PIPE,
                                  text=True, env=tutti.CLEAN | {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "2"}) as aggressor:
                said = aggressor.stdout.readline()
                aggressor.terminate()
            self.assertRegex(said, r"^ready \d+\n$")

    def test_refusals_say_what_to_use(self):
        done, _ = self.bench("--aggressor", "no-such-program", *QUICK)
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, "'no-such-program' .*64.*; use ")
        done, _ = self.bench("--aggressor", "network", *QUICK)
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, "several hosts; use ")
        for load in ("memory:0", "cpu:x", "network:2", "cpu:"):
            with self.subTest(load=load):
                done = tutti.run("aggressor", load)
                self.assertEqual(done.returncode, 64)
                self.assertIn("use memory, cpu", done.stderr)
        done = tutti.run("aggressor", "network", "--to", "127.0.0.1:1")
        self.assertEqual(done.returncode, 64)
        self.assertIn("'tutti aggressor network'", done.stderr)

        done, _ = self.bench("--aggressor", "cpu", "--aggressor", "cpu", *QUICK)
        self.assertEqual(done.returncode, 64)
        self.assertRegex(done.stderr, "'cpu' .*twice; use ")

    def test_the_network_is_kept_busy_until_the_receiver_ends(self):
        with subprocess.Popen([tutti.EXECUTABLE, "aggressor", "network"], stdout=subprocess.PIPE, text=True) as receiver:
            self.addCleanup(receiver.kill)
            port = int(receiver.stdout.readline())
            with subprocess.Popen([tutti.EXECUTABLE, "aggressor", "network", "--to", f"127.0.0.1:{port}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sender:
                self.addCleanup(sender.kill)
                said_first = sender.stdout.readline()
                before = received_by_loopback()
                wait_until(lambda: received_by_loopback() - before > 64 << 20, "64 MiB are received")
                receiver.kill()
                _, said = sender.communicate(timeout=30)
                self.assertEqual(said_first, "connected\n")
                self.assertEqual(sender.returncode, 64)
                self.assertIn("receiver closed", said)


def received_by_loopback():
    """Bytes."""
    with open("/proc/net/dev", encoding="utf-8") as interfaces:
        return next(int(line.split()[1]) for line in interfaces if line.strip().startswith("lo:"))


if __name__ == "__main__":
    unittest.main()
