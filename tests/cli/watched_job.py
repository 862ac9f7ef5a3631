# SPDX-License-Identifier: Apache-2.0
"""Jobs that are harmed in the middle of a sweep, and checks of what they leave."""
import tutti
from job import Job, wait_until

# Over a thousand points, many of them in a second.
SWEEP = ("-b", 8, "-e", "64M", "-f", 1.01, "--algo", "ring,tree", "-n", 5)
# Transports that do not notice a lost rank themselves.
DEAF = ("--transport", "shm,mpi")


class WatchedJob(tutti.Folder):
    def start(self, *words):
        job = Job(self.folder / f"job{len(list(self.folder.iterdir()))}.jsonl", *words)
        self.addCleanup(job.clean_up)
        return job

    def assert_nothing_left(self, job):
        wait_until(lambda: not job.left_behind(), "all processes and shared files are gone")

    def assert_readable(self, job):
        """The file has points and no end, and the report reads it."""
        kinds = [record["kind"] for record in tutti.records(job.file)]
        self.assertEqual(kinds[:2], ["session", "launch"])
        self.assertIn("point", kinds)
        self.assertNotIn("end", kinds)
        done = tutti.run("report", job.file, "-o", job.file.with_suffix(".html"), TUTTI_PYTHON="true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def said_of_causes(self, job):
        """The messages about ranks; another one tells how to resume."""
        return [line for line in job.said() if line.startswith("tutti: rank ")]

    def fail_records(self, job):
        return [record for record in tutti.records(job.file) if record["kind"] == "fail"]
