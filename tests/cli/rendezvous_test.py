# SPDX-License-Identifier: Apache-2.0
"""Ranks that are processes which meet at an address, without MPI: the commands work, and failures are one line."""
import json
import signal
import socket
import subprocess
import unittest
from pathlib import Path

import tutti
from job import Process, wait_until
from tutti import COLLECTIVES, QUICK

TIME_OUT, RANK_LOST, USAGE = 4, 5, 64


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ranks:
    """The command on ranks of one rendezvous; each entry of `ranks` is (rank, size); `each` returns the environment of a rank."""

    def __init__(self, ranks, *words, each=lambda rank: {}, **environment):
        where = f"tcp://127.0.0.1:{free_port()}"
        self.processes = [subprocess.Popen([tutti.EXECUTABLE, *map(str, words), "--rendezvous", where, "--rank", str(rank), "--size", str(size)],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                           env=tutti.CLEAN | environment | each(rank)) for rank, size in ranks]

    def end(self, seconds=60):
        """(exit code, stdout, tutti's lines of stderr) of each process."""
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
        """The output of rank 0; the others must print nothing."""
        (code, out, said), *others = Ranks(of(ranks), *words, **environment).end(200)
        self.assertEqual((code, said), (0, []), out)
        for other in others:
            self.assertEqual(other, (0, "", []))
        return out

    def test_bench_measures_every_collective(self):
        for ranks, collective in (*((2, each) for each in COLLECTIVES), (3, "all_reduce")):
            with self.subTest(collective, ranks=ranks):
                out = self.run_ranks(ranks, "bench", collective, "--counts", "0,1,1001,50000", *QUICK)
                self.assertIn(" 0 OK\n", out)
                self.assertIn(f"# {ranks} ranks, ", out)

    def test_mpi_is_left_out_in_a_line(self):
        out = self.run_ranks(2, "bench", "all_reduce", "-b", 8, "-e", 8, "--transport", "all", "--baseline", "all", *QUICK)
        for name in ("transport", "baseline"):
            self.assertRegex(out, f"{name} mpi .*mpirun")

    def test_records_have_the_processes_of_the_ranks(self):
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

    def test_one_rank_is_enough(self):
        self.assertIn("0 OK", self.run_ranks(1, "bench", "all_reduce", "-e", 64, *QUICK))

    def test_auto_takes_the_environment_of_torchrun(self):
        port = str(free_port())
        processes = [subprocess.Popen([tutti.EXECUTABLE, "bench", "all_reduce", "-e", "64", *QUICK, "--rendezvous", "auto"],
                                      stdout=subprocess.PIPE, text=True,
                                      env=tutti.CLEAN | {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": port})
                     for rank in range(2)]
        outs = [process.communicate(timeout=60)[0] for process in processes]
        self.assertIn("# 2 ranks, ", outs[0])
        self.assertEqual(outs[1], "")


class WrongArguments(tutti.Folder):
    def test_of_one_process_do_not_disturb_the_others(self):
        ranks = Ranks([(0, 2), (1, 3)], "bench", "all_reduce", "-e", 8, *QUICK, "--start-timeout", "60s")
        self.addCleanup(ranks.clean_up)
        refused = ranks.processes[1].communicate(timeout=60)
        self.assertEqual(ranks.processes[1].returncode, USAGE)
        self.assertIn("one of 3 ranks", tutti.said(refused[1])[0])
        address = ranks.processes[0].args[-5]
        right = subprocess.run([tutti.EXECUTABLE, "bench", "all_reduce", "-e", "8", *QUICK, "--rendezvous", address, "--rank", "1",
                                "--size", "2"], capture_output=True, text=True, check=False, timeout=60, env=tutti.CLEAN)
        self.assertEqual((right.returncode, right.stderr), (0, ""))
        out, err = ranks.processes[0].communicate(timeout=60)
        self.assertEqual((ranks.processes[0].returncode, err), (0, ""), out)

    def test_of_all_are_reported_by_one(self):
        ended = Ranks(of(2), "bench", "all_reduce", "--algo", "no-such-algorithm").end()
        self.assertEqual([(code, len(said)) for code, _, said in ended], [(USAGE, 1), (USAGE, 0)])

    def test_a_rank_that_does_not_come_is_named(self):
        (code, _, said), = Ranks([(0, 2)], "bench", "all_reduce", "--start-timeout", "1s").end()
        self.assertEqual(code, TIME_OUT)
        self.assertRegex(said[0], r"127.0.0.1:\d+: rank 1$")


class LostRank(tutti.Folder):
    def start(self, *words):
        """A sweep on two ranks that has begun."""
        job = Ranks(of(2), "bench", "all_reduce", "--counts", "1,8000000", "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0,
                    "--algo", "ring", "--baseline", "none", "--json", self.results, *words)
        self.addCleanup(job.clean_up)
        wait_until(lambda: tutti.points(self.results) or [process.poll() for process in job.processes] != [None] * 2, "the first point")
        busy_since = [Process(process.pid).cpu_seconds() for process in job.processes]
        wait_until(lambda: all(Process(process.pid).cpu_seconds() - since > 0.2 for process, since in zip(job.processes, busy_since)),
                   "the second point has begun")
        return job

    def test_ends_the_others_with_exit_5_and_is_named(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                self.results.unlink(missing_ok=True)
                job = self.start()
                job.processes[victim].send_signal(signal.SIGKILL)
                ended = job.end(150)  # before --max-time
                self.assertEqual(ended[victim][0], -signal.SIGKILL)
                code, _, said = ended[1 - victim]
                self.assertEqual(code, RANK_LOST, said)
                self.assertRegex(said[0], rf"^tutti: rank {1 - victim} .*rank {victim}")

    def test_that_is_stopped_is_named_after_the_deadline(self):
        job = self.start("-T", "1s")
        job.processes[1].send_signal(signal.SIGSTOP)
        out, err = job.processes[0].communicate(timeout=150)
        self.assertEqual(job.processes[0].returncode, TIME_OUT, out + err)
        self.assertRegex(err, r"tutti: rank 0 .*rank 1")


if __name__ == "__main__":
    unittest.main()
