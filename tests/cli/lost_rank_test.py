# SPDX-License-Identifier: Apache-2.0
"""A rank that dies, stops or is sent away ends the job soon, with a code and a line that say so;
what was measured before is kept, and nothing of the job is left behind."""
import fcntl
import os
import signal
import socket
import time
import unittest

import tutti
from job import Job, wait_until

TIME_OUT, RANK_LOST = 4, 5

# Points come many times a second, over a thousand of them.
SWEEP = ("-b", 8, "-e", "64M", "-f", 1.01, "--algo", "ring,tree", "-n", 5)
# Methods that do not notice the loss themselves.
DEAF = ("--transport", "shm,mpi")
# A small point shows that the ranks are up; then one that lasts long, in long calls.
ONE_LONG_POINT = ("--counts", "1,16000000", "--inplace", "no", "-c", 0, "-n", 200, "-w", 0)


class WatchedJob(tutti.Folder):
    def start(self, *words):
        job = Job(self.folder / f"job{len(list(self.folder.iterdir()))}.jsonl", *words)
        self.addCleanup(job.clean_up)
        return job

    def assert_nothing_left(self, job):
        wait_until(lambda: not job.left_behind(), "all processes and shared files are gone", seconds=10)

    def assert_readable(self, job):
        """Every line that the sweep finished is there; the report accepts them."""
        kinds = [record["kind"] for record in tutti.records(job.file)]
        self.assertEqual(kinds[:2], ["session", "launch"])
        self.assertIn("point", kinds)
        self.assertNotIn("end", kinds)
        done = tutti.run("report", job.file, "-o", job.file.with_suffix(".html"), TUTTI_PYTHON="true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def fails(self, job):
        return [record for record in tutti.records(job.file) if record["kind"] == "fail"]


@tutti.needs_mpi
class KilledRank(WatchedJob):
    def check_kill_of(self, victim, *words):
        job = self.start(*SWEEP, *(words or DEAF))
        job.wait_for_points(3)
        job.ranks[victim].kill(signal.SIGKILL)
        self.assertEqual(job.end(), RANK_LOST, job.stderr())
        self.assertIn(f"tutti: rank {victim} (process {job.ranks[victim].pid} on {socket.gethostname()}) "
                      "was killed by signal 9 (Killed); the job ends", job.said())
        self.assert_nothing_left(job)
        self.assert_readable(job)
        return self.fails(job)

    def test_ends_the_job_with_exit_5(self):
        fail, = self.check_kill_of(1)
        self.assertEqual(fail["what"], "signal")
        self.assertIn("another rank failed", fail["phase"])

    def test_that_writes_the_file_ends_the_job_with_exit_5(self):
        fail, = self.check_kill_of(0)
        self.assertEqual((fail["what"], fail["rank"], fail["signal"]), ("signal", 0, signal.SIGKILL))

    def test_ends_the_job_with_exit_5_under_a_transport_that_notices_as_well(self):
        if reason := tutti.transport_missing("ucx"):
            self.skipTest(reason)
        fail, = self.check_kill_of(1, "--transport", "ucx", "--baseline", "none")
        self.assertRegex(fail["phase"], r"another rank failed|rank 0 lost rank 1 \(ucx\): ")


@tutti.needs_mpi
class StoppedRank(WatchedJob):
    # Between two calls the ranks meet; one that is stopped just there is missed in other words.
    # Calls take nearly all of the time, so that another attempt will hit one.
    def line_after_stop_of(self, victim, expected, *words):
        for _ in range(4):
            job = self.start(*ONE_LONG_POINT, "-T", "1s", *words)
            job.wait_for_points(1)
            other = job.ranks[1 - victim]
            busy_since = other.cpu_seconds()
            wait_until(lambda: other.cpu_seconds() - busy_since > 0.2, "the second point is under way")
            job.ranks[victim].kill(signal.SIGSTOP)
            self.assertEqual(job.end(seconds=15), TIME_OUT, job.stderr())
            self.assert_nothing_left(job)
            self.assert_readable(job)
            # The victim never wakes again: its guardian kills it.
            self.assertEqual(len(job.said()), 1, job.stderr())
            line, = job.said()
            self.assertTrue(line.startswith(f"tutti: rank {1 - victim} "), line)
            if "another rank does not answer" not in line:
                break
        self.assertRegex(line, expected)
        return job

    def test_is_named_with_algorithm_and_step_by_the_rank_that_waits(self):
        for victim, transport in ((1, "shm"), (1, "mpi"), (1, "ucx"), (0, "shm")):
            if tutti.transport_missing(transport):
                continue
            with self.subTest(victim=victim, transport=transport):
                job = self.line_after_stop_of(
                    victim, rf"rank {1 - victim} waited 1 s in all_reduce ring \({transport}\), "
                            rf"step \d+ of \d+, for rank {victim}$",
                    "--baseline", "none", "--algo", "ring", "--transport", transport)
                self.assertIn("timeout" if victim == 1 else "signal", [fail["what"] for fail in self.fails(job)])

    def test_in_a_library_call_is_noticed_by_the_watchdog(self):
        self.line_after_stop_of(
            1, r"rank 0 has not come back for \d+ s from a library call in all_reduce 16000000 float$",
            "--baseline", "mpi", "--algo", "none")


class LateRank(WatchedJob):
    PAUSE = 2  # seconds; less than any deadline

    def check_end_without(self, job, victim, phase, seconds):
        """One line names the rank that is stopped, and says what all others wait for."""
        job.look_around()
        number = victim.rank()
        self.assertEqual(job.end(seconds + 20), TIME_OUT, job.stderr())
        self.assertEqual(job.said(), [
            f"tutti: rank {number} (process {victim.pid} on {socket.gethostname()}) has not come through "
            f"{phase} for {seconds} s: it is stopped; the job ends"])
        self.assert_nothing_left(job)

    def check_end_after_pause(self, job, victim):
        time.sleep(self.PAUSE)
        victim.kill(signal.SIGCONT)
        self.assertEqual(job.end(), 0, job.stderr())
        self.assertEqual(job.said(), [])


@tutti.needs_mpi
class RankThatDoesNotStart(LateRank):
    def job_and_stopped_rank(self, number):
        job = self.start("-T", "1s", *tutti.QUICK, "--counts", 1)
        victim = job.rank_that_starts(number)
        victim.kill(signal.SIGSTOP)
        return job, victim

    def test_ends_the_job_with_exit_4(self):
        job, victim = self.job_and_stopped_rank(1)
        time.sleep(5)  # the other one has come as far as it can
        self.check_end_without(job, victim, "MPI_Init and the first exchange", 30)

    def test_that_goes_on_after_a_pause_is_no_failure(self):
        self.check_end_after_pause(*self.job_and_stopped_rank(0))


@tutti.needs_mpi
class RankThatDoesNotEnd(LateRank):
    def job_and_stopped_rank(self):
        """Rank 0 is held by its table, which nobody reads, until rank 1 is stopped in MPI_Finalize."""
        table = self.folder / "table.csv"
        os.mkfifo(table)
        reader = os.open(table, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        job = self.start("-T", "2s", *tutti.QUICK, "--algo", "ring", "--transport", "shm", "--counts",
                         ",".join(map(str, range(1, 100))), "--csv", table)
        wait_until(lambda: any(record["kind"] == "end" for record in tutti.records(job.file)), "all is measured")
        job.wait_for_points(1)
        victim = job.ranks[1]
        time.sleep(0.5)
        victim.kill(signal.SIGSTOP)
        os.set_blocking(reader, True)
        while os.read(reader, 4096):
            pass
        return job, victim

    def test_ends_the_job_with_exit_4(self):
        self.check_end_without(*self.job_and_stopped_rank(), "MPI_Finalize", 6)

    def test_that_goes_on_after_a_pause_is_no_failure(self):
        self.check_end_after_pause(*self.job_and_stopped_rank())


@tutti.needs_mpi
class DismissedJob(WatchedJob):
    def check_end_by(self, what):
        job = self.start(*SWEEP)
        job.wait_for_points(3)
        job.mpirun().kill(what)
        self.assertNotEqual(job.end(), 0)
        self.assert_nothing_left(job)
        self.assert_readable(job)

    def test_leaves_nothing_behind(self):
        self.check_end_by(signal.SIGTERM)

    def test_leaves_nothing_behind_even_when_the_launcher_is_killed(self):
        self.check_end_by(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
