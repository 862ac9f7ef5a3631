# SPDX-License-Identifier: Apache-2.0
"""A run that is ended by a signal names the file with its results, and can be resumed."""
import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

import tutti
from job import wait_until
from watched_job import DEAF, SWEEP, WatchedJob


@tutti.needs_mpi
class Interruption(WatchedJob):
    def check(self, what):
        job = self.start(*SWEEP)
        job.wait_for_points(3)
        job.launcher.send_signal(what)
        self.assertEqual(job.end(), 128 + what, job.stderr())
        self.assertRegex(job.said()[-1], rf"\d+ records .*'{job.file}'.* --resume {job.file}$")
        self.assert_nothing_left(job)
        self.assert_readable(job)
        fail, = self.fail_records(job)
        self.assertEqual(fail["what"], "signal")
        return job

    def test_by_each_signal(self):
        for what in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(what=what.name):
                self.check(what)

    def test_and_resume_measure_each_point_once(self):
        held, typed = self.folder / "held.csv", self.folder / "typed.csv"
        job = self.start("-b", 8, "-e", "4M", "-f", 1.3, "--algo", "ring,tree", "-n", 5, "--csv", held, *DEAF)
        job.wait_for_points(8)
        job.launcher.send_signal(signal.SIGINT)
        job.end()
        held.unlink()
        before = tutti.points(job.file)
        done = tutti.run_ranks(2, "bench", "--resume", job.file, "--csv", typed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((held.exists(), typed.exists()), (False, True), "a results file must not name files to write")
        whole = tutti.points(job.file)
        self.assertEqual(whole[:len(before)], before)
        first, second = (record for record in tutti.records(job.file) if record["kind"] == "session")
        self.assertEqual(second["resume_of"], first["id"])
        self.assertEqual(second["plan"], first["plan"] | {"csv": str(typed)})
        places = [json.dumps(point["key"], sort_keys=True) for point in whole]
        self.assertEqual(len(places), len(set(places)), "twice")
        again = tutti.run_ranks(2, "bench", "all_reduce", "--json", self.folder / "once.jsonl", "-b", 8, "-e", "4M", "-f", 1.3,
                                "--algo", "ring,tree", "-n", 1, *DEAF)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(whole), len(tutti.points(self.folder / "once.jsonl")))
        rows = [line for line in done.stdout.splitlines() if line and not line.startswith("#")]
        self.assertEqual(rows, [row for row in rows if row.strip()])
        last = tutti.run_ranks(2, "bench", "--resume", job.file)
        self.assertEqual((last.returncode, len(tutti.said(last.stderr))), (64, 1))


@tutti.needs_mpi
class InterruptedWorkload(tutti.Folder):
    WORDS = ("workload", "ddp", "--scale", "small", "--algo", "ring", "--transport", "shm", "--baseline", "none",
             "--step-time", "20ms", "-n", 120, "--min-steps", 120)

    def steps(self, file):
        return [record for record in tutti.records(file) if record["kind"] in ("step", "partial_step")]

    def test_keeps_its_steps_and_goes_on(self):
        file = self.folder / "steps.jsonl"
        run = subprocess.Popen([tutti.MPI_RUN, "2", tutti.EXECUTABLE, *map(str, self.WORDS), "--json", str(file)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=tutti.CLEAN)
        self.addCleanup(run.kill)
        wait_until(lambda: len(self.steps(file)) > 2, "some steps are kept")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(timeout=120), 128 + signal.SIGTERM)
        kept = self.steps(file)[-1]
        self.assertTrue(kept["partial"])
        report = tutti.run("report", file, "-o", self.folder / "report.html", TUTTI_PYTHON="true")
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        done = tutti.run_ranks(2, "workload", "--resume", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = self.steps(file)[-1]
        self.assertEqual((whole["n"], whole.get("partial")), (120, None))
        first = next(step for step in self.steps(file) if step["session"] != kept["session"])
        self.assertGreater(first["n"], kept["n"])
        self.assertEqual(first["samples_ns"]["step"][:kept["n"]], kept["samples_ns"]["step"])


@tutti.needs_mpi
class ResultsInSharedMemory(unittest.TestCase):
    # Segments of lost ranks are removed there, but not the files of users.
    def test_outlive_a_lost_rank(self):
        file = Path(f"/dev/shm/tutti-test-{os.getpid()}.jsonl")
        self.addCleanup(file.unlink, missing_ok=True)
        run = subprocess.Popen([tutti.MPI_RUN, "2", tutti.EXECUTABLE, "bench", "all_reduce", "--algo", "ring", "--transport",
                                "shm", "--baseline", "none", "-b", "8", "-e", "64M", "-f", "1.01", "--json", file],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=tutti.CLEAN)
        self.addCleanup(run.kill)
        wait_until(lambda: len(tutti.points(file)) > 3, "some points are measured")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(timeout=120), 128 + signal.SIGTERM)
        wait_until(lambda: any(record["kind"] == "fail" for record in tutti.records(file)), "the end is recorded")
        self.assertGreater(len(tutti.points(file)), 3)


class InterruptedThreads(tutti.Folder):
    def test_end_with_a_line_a_record_and_128_plus_the_signal(self):
        file = self.folder / "out.jsonl"
        for what in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(what=what.name):
                run = subprocess.Popen(
                    [tutti.EXECUTABLE, "bench", "all_reduce", "--ranks", "2", "-b", "8", "-e", "64M", "-f", "1.01", "--json",
                     str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=tutti.CLEAN)
                self.addCleanup(run.stderr.close)
                self.addCleanup(run.kill)
                points = len(tutti.points(file))
                wait_until(lambda: len(tutti.points(file)) > points + 3, "some points are measured")
                run.send_signal(what)
                self.assertEqual(run.wait(timeout=120), 128 + what)
                self.assertRegex(tutti.said(run.stderr.read())[-1], rf"{what.name}.* \d+ records .* --resume {file}$")
                fail = tutti.records(file)[-1]
                self.assertEqual((fail["kind"], fail["what"], fail["signal"]), ("fail", "signal", what))


if __name__ == "__main__":
    unittest.main()
