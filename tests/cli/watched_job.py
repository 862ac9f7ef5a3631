# SPDX-License-Identifier: Apache-2.0
"""Jobs that are harmed in the middle of a sweep, and what must hold of them afterwards."""
import tutti
from job import Job, wait_until

# Points come many times a second, over a thousand of them.
SWEEP = ("-b", 8, "-e", "64M", "-f", 1.01, "--algo", "ring,tree", "-n", 5)
# Methods that do not notice the loss themselves.
DEAF = ("--transport", "shm,mpi")


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

    def said_of_causes(self, job):
        """What was said but for the line that tells what is kept."""
        return [line for line in job.said() if not line.startswith("tutti: the job was ended by a signal, or by a rank")]

    def fails(self, job):
        return [record for record in tutti.records(job.file) if record["kind"] == "fail"]
