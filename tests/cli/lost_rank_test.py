# SPDX-License-Identifier: Apache-2.0
"""A rank that dies, stops or leaves ends the job with an exit code and a message; results are kept, processes and shared
memory are removed."""
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

import tutti
from job import Job, wait_until
from processes import Process, descendants, name_of  # on the path since job
from watched_job import DEAF, SWEEP, WatchedJob

TIME_OUT, RANK_LOST = 4, 5

# A small point shows that the ranks are up; then one that lasts long, in long calls.
ONE_LONG_POINT = ("--counts", "1,16000000", "--inplace", "no", "-c", 0, "-n", 200, "-w", 0)


def named(rank, process):
    return f"tutti: rank {rank} (process {process.pid} on {socket.gethostname()})"


@tutti.needs_mpi
class KilledRank(WatchedJob):
    def check_kill_of(self, victim, *words):
        job = self.start(*SWEEP, *(words or DEAF))
        job.wait_for_points(3)
        job.ranks[victim].kill(signal.SIGKILL)
        self.assertEqual(job.end(), RANK_LOST, job.stderr())
        self.assertIn(f"{named(victim, job.ranks[victim])} was killed by signal 9", job.stderr())
        self.assert_nothing_left(job)
        self.assert_readable(job)
        return self.fail_records(job)

    def test_ends_the_job_with_exit_5(self):
        fail, = self.check_kill_of(1)
        self.assertEqual((fail["phase"], fail["rank"], fail["signal"]), ("rank killed", 1, signal.SIGKILL))

    def test_that_writes_the_file_ends_the_job_with_exit_5(self):
        fail, = self.check_kill_of(0)
        self.assertEqual((fail["what"], fail["rank"], fail["signal"]), ("signal", 0, signal.SIGKILL))

    def test_ends_the_job_with_exit_5_under_a_transport_that_notices_as_well(self):
        if reason := tutti.transport_missing("ucx"):
            self.skipTest(reason)
        fail, = self.check_kill_of(1, "--transport", "ucx", "--baseline", "none")
        self.assertRegex(fail["phase"], r"rank killed|rank 0 lost rank 1 \(ucx\): ")


    def test_is_not_left_stopped_when_cleaner_and_supervisor_are_killed(self):
        job = self.start(*SWEEP, *DEAF)
        job.wait_for_points(3)
        supervisor = Process(job.ranks[1].parent)

        def cleaners():
            return [each for each in descendants(supervisor.pid) if name_of(each) == "tutti-cleaner" and each.is_alive()]

        first, = cleaners()
        first.kill(signal.SIGKILL)
        wait_until(lambda: [each.pid for each in cleaners()] not in ([], [first.pid]), "there is another one")
        supervisor.kill(signal.SIGKILL)
        self.assertEqual(job.end(), RANK_LOST, job.stderr())
        self.assert_nothing_left(job)


@tutti.needs_mpi
class StoppedRank(WatchedJob):
    # A rank that is stopped between two calls, where the ranks meet, is reported otherwise. Calls take most of the time, so
    # another attempt stops it in one.
    def line_after_stop_of(self, victim, expected, *words):
        for _ in range(4):
            job = self.start(*ONE_LONG_POINT, "-T", "1s", *words)
            job.wait_for_points(1)
            other = job.ranks[1 - victim]
            busy_since = other.cpu_seconds()
            wait_until(lambda: other.cpu_seconds() - busy_since > 0.2, "the second point is under way")
            job.ranks[victim].kill(signal.SIGSTOP)
            self.assertEqual(job.end(), TIME_OUT, job.stderr())
            self.assert_nothing_left(job)
            self.assert_readable(job)
            line, stop = self.said_of_causes(job)
            self.assertTrue(line.startswith(f"tutti: rank {1 - victim} "), line)
            self.assertTrue(stop.startswith(f"{named(victim, job.ranks[victim])} is stopped"), stop)
            if "waited 2 s" not in line:
                break
            self.assertIn(f"rank {victim}", line)
        self.assertRegex(line, expected)
        return job

    def test_is_named_with_algorithm_and_step_by_the_rank_that_waits(self):
        for victim, transport in ((1, "shm"), (1, "mpi"), (1, "ucx"), (0, "shm")):
            if tutti.transport_missing(transport):
                continue
            with self.subTest(victim=victim, transport=transport):
                job = self.line_after_stop_of(
                    victim, rf"all_reduce ring \({transport}\), step \d.* rank {victim}$",
                    "--baseline", "none", "--algo", "ring", "--transport", transport)
                fail, = self.fail_records(job)
                self.assertEqual((fail["what"], fail["rank"]), ("timeout", 1 - victim))

    def test_in_a_library_call_is_noticed_by_the_watchdog(self):
        job = self.line_after_stop_of(
            1, "library .*all_reduce 16000000 float$",
            "--baseline", "mpi", "--algo", "none")
        fail, = self.fail_records(job)
        self.assertEqual((fail["what"], fail["rank"]), ("timeout", 0))


    # A rank in a call of a library gives up after more than twice -T; the supervisor ends the job before.
    def test_is_ended_by_its_supervisor_soon_after_the_deadline(self):
        job = self.start(*ONE_LONG_POINT, "-T", "4s", "--baseline", "mpi", "--algo", "none")
        job.wait_for_points(1)
        job.ranks[1].kill(signal.SIGSTOP)
        self.assertEqual(job.end(), TIME_OUT, job.stderr())
        self.assert_nothing_left(job)
        self.assertRegex(job.stderr(), re.escape(named(1, job.ranks[1])) + ".* 7 s")
        fail, = self.fail_records(job)
        self.assertEqual((fail["what"], fail["phase"], fail["rank"]), ("timeout", "rank stopped", 1))


class LateRank(WatchedJob):
    PAUSE = 2  # seconds; less than any deadline

    def check_end_without(self, job, victim, phase, seconds):
        """One line names the rank that is stopped, and the phase in which the other ranks wait."""
        job.look_around()
        number = victim.rank()
        self.assertEqual(job.end(), TIME_OUT, job.stderr())
        line, = self.said_of_causes(job)
        self.assertRegex(line, rf"^{re.escape(named(number, victim))} .*{phase}.* {seconds} s")
        self.assert_nothing_left(job)

    def check_end_after_pause(self, job, victim):
        time.sleep(self.PAUSE)
        victim.kill(signal.SIGCONT)
        self.assertEqual(job.end(), 0, job.stderr())
        self.assertEqual(job.said(), [])


@tutti.needs_mpi
class RankThatDoesNotStart(LateRank):
    START = 5

    def job_and_stopped_rank(self, number, start=START, deadline="1s"):
        job = self.start("-T", deadline, "--start-timeout", f"{start}s", *tutti.QUICK, "--counts", 1)
        victim = job.rank_that_starts(number)
        victim.kill(signal.SIGSTOP)
        return job, victim

    def test_ends_the_job_with_exit_4(self):
        job, victim = self.job_and_stopped_rank(1)
        time.sleep(3)  # the other one has come as far as it can
        self.check_end_without(job, victim, "MPI_Init", self.START)

    # Another rank may have come through already, and wait for this one with the deadline of its calls.
    def test_is_ended_by_its_supervisor_long_before_the_deadline_of_the_start(self):
        job, victim = self.job_and_stopped_rank(1, start=60)
        job.look_around()
        self.assertEqual(job.end(seconds=50), TIME_OUT, job.stderr())  # before the deadline of the start
        line, = self.said_of_causes(job)
        self.assertRegex(line, f"^{re.escape(named(1, victim))} .* 6 s")
        self.assert_nothing_left(job)

    def test_that_goes_on_after_a_pause_is_no_failure(self):
        self.check_end_after_pause(*self.job_and_stopped_rank(0, start=60, deadline="30s"))


@tutti.needs_mpi
class RankThatDoesNotEnd(LateRank):
    def job_and_stopped_rank(self, deadline):
        """Rank 0 cannot write its table into a full pipe until rank 1 is stopped in MPI_Finalize."""
        table = self.folder / "table.csv"
        os.mkfifo(table)
        reader = os.open(table, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        job = self.start("-T", deadline, *tutti.QUICK, "--algo", "ring", "--transport", "shm", "--counts",
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
        self.check_end_without(*self.job_and_stopped_rank("2s"), "MPI_Finalize", 6)

    def test_that_goes_on_after_a_pause_is_no_failure(self):
        self.check_end_after_pause(*self.job_and_stopped_rank("30s"))


@tutti.needs_mpi
class EndedJob(WatchedJob):
    def check_end_by(self, what):
        job = self.start(*SWEEP)
        job.wait_for_points(3)
        job.mpirun().kill(what)
        self.assertNotEqual(job.end(), 0)
        self.assert_nothing_left(job)
        self.assert_readable(job)

    def test_leaves_nothing(self):
        self.check_end_by(signal.SIGTERM)

    def test_leaves_nothing_if_the_launcher_is_killed(self):
        self.check_end_by(signal.SIGKILL)


@tutti.needs_mpi
class RankThatLeaves(WatchedJob):
    def job_that_leaves_by(self, action):
        """Rank 1 performs the action in place of its 40th PMPI_Ibarrier."""
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler")
        source = self.file("leave.c", """
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <fcntl.h>
            #include <signal.h>
            #include <stdlib.h>
            #include <unistd.h>
            int PMPI_Ibarrier(void* comm, void* request) {
                static int (*next)(void*, void*);
                if (next == NULL) next = (int (*)(void*, void*))dlsym(RTLD_NEXT, "PMPI_Ibarrier");
                static int calls;
                const char* rank = getenv("OMPI_COMM_WORLD_RANK");
                if (rank == NULL) rank = getenv("PMI_RANK");
                if (++calls == 40 && rank[0] == '1') { """ + action + """ }
                return next(comm, request);
            }""")
        library = self.folder / "leave.so"
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-o", library, source], check=True)
        job = Job(self.folder / "job.jsonl", "-b", 8, "-e", "64M", "-f", 1.01, "-n", 5, "--algo", "none", "--baseline", "mpi", "--sync", "barrier",
                  LD_PRELOAD=str(library))
        self.addCleanup(job.clean_up)
        self.assertEqual(job.end(), RANK_LOST, job.stderr())
        return job

    def test_just_after_it_has_made_a_segment_leaves_none(self):
        """No peer has seen the segment yet; before, the supervisor looked only at the start."""
        segment = Path(f"/dev/shm/tutti-test-{os.getpid()}")
        self.addCleanup(segment.unlink, missing_ok=True)
        self.job_that_leaves_by(f'open("{segment}", O_RDWR | O_CREAT, 0600); usleep(50000); kill(getpid(), SIGKILL);')
        self.assertFalse(segment.exists())

    def test_with_code_0_in_the_middle_is_named(self):
        """Before, a library that called exit(0) ended the job with the exit code 1 of mpirun and without a message."""
        job = self.job_that_leaves_by("_exit(0);")
        self.assertRegex(self.said_of_causes(job)[0], r"^tutti: rank 1 \(process .* code 0")
        if job.file.exists() and tutti.points(job.file):
            fail, = self.fail_records(job)
            self.assertEqual((fail["rank"], fail["what"]), (1, "exit"))


if __name__ == "__main__":
    unittest.main()
