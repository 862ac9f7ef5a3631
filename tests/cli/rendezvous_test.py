# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes which meet at an address, without MPI: the commands work, and what goes wrong is said in a line."""
import json
import os
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

import tutti
from tutti import COLLECTIVES, QUICK

TIME_OUT, RANK_LOST, USAGE = 4, 5, 64
ENDLESS = ("-b", "4M", "-e", "4M", "-n", 100_000, "-w", 0, "--max-time", "60s", "--algo", "ring", "-c", 0, "--inplace", "no")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ranks:
    """The command on ranks of one rendezvous; each entry of `ranks` is (rank, size); `each` makes variables of a rank's own."""

    def __init__(self, ranks, *words, each=lambda rank: {}, **environment):
        where = f"tcp://127.0.0.1:{free_port()}"
        self.processes = [subprocess.Popen([tutti.EXECUTABLE, *map(str, words), "--rendezvous", where, "--rank", str(rank), "--size", str(size)],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                           env=tutti.CLEAN | environment | each(rank)) for rank, size in ranks]

    def end(self, seconds=60):
        """(exit code, stdout, lines of stderr that are tutti's) of each process."""
        try:
            return [(process.returncode, out, tutti.said(err)) for process in self.processes
                    for out, err in [process.communicate(timeout=seconds)]]
        finally:
            self.clean_up()

    def clean_up(self):
        for process in self.processes:
            process.kill()
            process.communicate()


def of(ranks):
    return [(rank, ranks) for rank in range(ranks)]


class Commands(tutti.Folder):
    def run_ranks(self, ranks, *words, **environment):
        """What rank 0 prints; the others must print nothing."""
        (code, out, said), *others = Ranks(of(ranks), *words, **environment).end(200)
        self.assertEqual((code, said), (0, []), out)
        for other in others:
            self.assertEqual(other, (0, "", []))
        return out

    def test_bench_measures_every_collective(self):
        for ranks, collective in (*((2, each) for each in COLLECTIVES), (3, "all_reduce")):
            with self.subTest(collective, ranks=ranks):
                out = self.run_ranks(ranks, "bench", collective, "--counts", "0,1,1001,50000", *QUICK)
                self.assertIn("# Out of bounds values : 0 OK", out)
                self.assertIn(f"{ranks} ranks, processes of a rendezvous", out)

    def test_what_mpi_alone_has_is_left_out_in_a_line(self):
        out = self.run_ranks(2, "bench", "all_reduce", "-b", 8, "-e", 8, "--transport", "all", "--baseline", "all", *QUICK)
        self.assertRegex(out, "transport mpi .*start with mpirun")
        self.assertRegex(out, "baseline mpi .*start with mpirun")

    def test_records_say_whose_the_ranks_were(self):
        file = self.folder / "run.jsonl"
        self.run_ranks(2, "bench", "all_reduce", "-b", 8, "-e", 1024, "-f", 2, "--json", file, *QUICK)
        session, launch = tutti.records(file)[:2]
        self.assertEqual((launch["nranks"], len({place["pid"] for place in launch["ranks"]})), (2, 2))
        self.assertNotIn("rank", session["plan"])
        self.assertIn("end", [record["kind"] for record in tutti.records(file)])

    def test_tune_writes_a_table(self):
        table = self.folder / "table.json"
        self.run_ranks(2, "tune", "all_reduce", "-e", "1K", "--budget", f"{8 * tutti.PATIENCE}s",
                       "--table", table)
        self.assertIn("sections", json.loads(table.read_text(encoding="utf-8")))

    def test_a_heap_that_is_full_on_one_rank_is_used_by_none(self):
        heap = Path(tutti.EXECUTABLE).with_name("libtutti_heap.so")
        if not heap.exists() or tutti.SANITIZED:
            self.skipTest("there is no libtutti_heap.so to preload")
        words = ("bench", "all_reduce", "--transport", "shm", "--algo", "ring", "--buffers", "unregistered", "-b", "8M", "-e", "8M", "-n", 1,
                 "-w", 0)
        ranks = Ranks(of(3), *words, each=lambda rank: {"LD_PRELOAD": str(heap), "TUTTI_HEAP_RESERVE": "8M" if rank == 2 else "1G"})
        for code, _, said in ranks.end(200):
            self.assertEqual((code, said), (0, []))

    def test_workloads_run(self):
        self.assertIn("step", self.run_ranks(2, "workload", "ddp", "--steps", 3, "--scale", "0.01"))

    def test_limits_are_measured(self):
        self.assertIn("copy", self.run_ranks(2, "limits", "--budget", "1s", "--no-store"))

    def test_topo_shows_the_machine(self):
        self.assertRegex(self.run_ranks(2, "topo"), r"\d+ packages?, ")

    def test_one_rank_needs_nobody(self):
        self.assertIn("0 OK", self.run_ranks(1, "bench", "all_reduce", "-e", 64, *QUICK))

    def test_auto_takes_what_torchrun_says(self):
        port = str(free_port())
        processes = [subprocess.Popen([tutti.EXECUTABLE, "bench", "all_reduce", "-e", "64", *QUICK, "--rendezvous", "auto"],
                                      stdout=subprocess.PIPE, text=True,
                                      env=tutti.CLEAN | {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port})
                     for rank in range(2)]
        outs = [process.communicate(timeout=60)[0] for process in processes]
        self.assertIn("2 ranks, processes of a rendezvous", outs[0])
        self.assertEqual(outs[1], "")


class WrongWords(tutti.Folder):
    def check(self, words, line, **environment):
        done = tutti.run("bench", "all_reduce", *words, **environment)
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn(line, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_are_answered_by_what_to_type(self):
        self.check(("--rendezvous", "node3:1", "--rank", 0, "--size", 2), "tcp://HOST:PORT")
        self.check(("--rendezvous", "tcp://localhost:1"), "type --rank R --size N")
        self.check(("--rendezvous", "tcp://localhost:1", "--rank", "a", "--size", 2), "--rank a is no number")
        self.check(("--rendezvous", "tcp://localhost:1", "--rank", 2, "--size", 2), "there is no rank 2 of 2")
        self.check(("--rendezvous",), "--rendezvous needs a value")
        self.check(("--rank", 0), "--rank and --size belong to --rendezvous")
        self.check(("--rendezvous", "auto"), "neither torchrun nor srun")
        self.check(("--rendezvous", "auto", "--rank", 1), "leave --rank and --size out")
        self.check(("--ranks", 2, "--rendezvous", "tcp://localhost:1", "--rank", 0, "--size", 2), "leave one of the two out")

    def test_of_one_process_do_not_disturb_the_others(self):
        ranks = Ranks([(0, 2), (1, 3)], "bench", "all_reduce", "-e", 8, *QUICK, "--start-timeout", "20s")
        self.addCleanup(ranks.clean_up)
        refused = ranks.processes[1].communicate(timeout=30)
        self.assertEqual(ranks.processes[1].returncode, USAGE)
        line, = tutti.said(refused[1])
        self.assertIn("one of 3 ranks", line)
        address = ranks.processes[0].args[-5]
        right = subprocess.run([tutti.EXECUTABLE, "bench", "all_reduce", "-e", "8", *QUICK, "--rendezvous", address, "--rank", "1",
                                "--size", "2"], capture_output=True, text=True, check=False, timeout=60, env=tutti.CLEAN)
        self.assertEqual((right.returncode, right.stderr), (0, ""))
        out, err = ranks.processes[0].communicate(timeout=30)
        self.assertEqual((ranks.processes[0].returncode, err), (0, ""), out)

    def test_of_all_are_told_by_one(self):
        ended = Ranks(of(2), "bench", "all_reduce", "--algo", "no-such-algorithm").end()
        self.assertEqual([code for code, _, _ in ended], [USAGE, USAGE])
        self.assertEqual(len(ended[0][2]), 1)
        self.assertEqual(ended[1][2], [])

    def test_a_rank_that_does_not_come_is_named(self):
        (code, _, said), = Ranks([(0, 2)], "bench", "all_reduce", "--start-timeout", "1s").end()
        self.assertEqual(code, TIME_OUT)
        self.assertRegex(said[0], r"^tutti: rank 0 waited 1 s: .* tcp://127.0.0.1:\d+: rank 1$")


class LostRank(tutti.Folder):
    def start(self, ranks, *words):
        """A sweep that has begun."""
        file = self.folder / f"run{len(os.listdir(self.folder))}.jsonl"
        job = Ranks(of(ranks), "bench", "all_reduce", "--counts", "1,8000000", "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0,
                    "--max-time", "60s", "--algo", "ring", "--baseline", "none", "--json", file, *words)
        until = time.monotonic() + 60
        while not tutti.points(file) and time.monotonic() < until:
            self.assertEqual([process.poll() for process in job.processes], [None] * ranks)
            time.sleep(0.05)
        time.sleep(0.5)
        return job

    def test_ends_the_others_with_exit_5_and_its_name(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                job = self.start(2)
                began = time.monotonic()
                job.processes[victim].send_signal(signal.SIGKILL)
                ended = job.end(30)
                self.assertLess(time.monotonic() - began, 15)
                self.assertEqual(ended[victim][0], -signal.SIGKILL)
                code, _, said = ended[1 - victim]
                self.assertEqual(code, RANK_LOST, said)
                self.assertRegex(said[0], rf"^tutti: rank {1 - victim} lost rank {victim}")

    def test_that_is_stopped_is_named_after_the_deadline(self):
        job = self.start(2, "-T", "1s")
        job.processes[1].send_signal(signal.SIGSTOP)
        self.addCleanup(job.clean_up)
        out, err = job.processes[0].communicate(timeout=30)
        self.assertEqual(job.processes[0].returncode, TIME_OUT, out + err)
        self.assertRegex(err, r"tutti: rank 0 waited [12] s .*rank 1")


if __name__ == "__main__":
    unittest.main()
