# SPDX-License-Identifier: Apache-2.0
"""Runs the command for the tests. CTest says by TUTTI where it is; by hand it is that of build/."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True  # nothing of a test stays in the source tree

ROOT = Path(__file__).resolve().parents[2]
EXECUTABLE = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
MPI_RUN = str(ROOT / "scripts/lib/mpi.sh")  # under whichever launcher there is
SANITIZED = Path(EXECUTABLE).exists() and b"san_init" in Path(EXECUTABLE).read_bytes()
PATIENCE = 10 if SANITIZED else 1  # factor of all timeouts
FULL_MATRIX = os.environ.get("TUTTI_FULL_MATRIX") == "1"

COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter",
               "gather", "all_to_all", "barrier", "scan", "exscan")


def needs_matplotlib(test):
    python = os.environ.get("TUTTI_PYTHON", "/usr/bin/python3")
    has = subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0
    return unittest.skipUnless(has, f"no matplotlib for {python}; Debian has it in python3-matplotlib")(test)


# Options for the fewest timed calls.
QUICK = ("-n", "1", "-w", "0", "--sync", "barrier")

# The line of nccl-tests after a table of right results.
ALL_RIGHT = "# Out of bounds values : 0 OK\n"

# The tests may be started by a rank of a job; the commands that they start are not ranks of that job.
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "SLURM_")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
CLEAN |= {"TUTTI_LIMITS": "none",  # measuring them takes seconds, and leaves a file at home
          "TUTTI_MODEL": "none"}  # a machine may have one from an earlier day


def run(*words, program=EXECUTABLE, timeout=60, cwd=None, **environment):
    """The command's CompletedProcess with text; a hang ends the test."""
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True,
                          timeout=timeout * PATIENCE, check=False, stdin=subprocess.DEVNULL,
                          env=CLEAN | environment, cwd=cwd)


def run_ranks(ranks, *words, timeout=120, **environment):
    """The same on MPI ranks."""
    return subprocess.run([MPI_RUN, str(ranks), EXECUTABLE, *map(str, words)], capture_output=True,
                          text=True, timeout=timeout * PATIENCE, check=False,
                          stdin=subprocess.DEVNULL,
                          env=CLEAN | environment)


def run_program(name, ranks, timeout=110):
    """Runs a program of the command's folder on MPI ranks: its exit code, stdout and stderr."""
    done = subprocess.run([MPI_RUN, str(ranks), Path(EXECUTABLE).with_name(name)], capture_output=True, text=True,
                          timeout=timeout * PATIENCE, check=False, stdin=subprocess.DEVNULL, env=CLEAN)
    return done.returncode, done.stdout, done.stderr


def transport_missing(name):
    """Returns why this build has no such transport; None if it has."""
    row, = (row for row in json.loads(run("list", "--json").stdout)["transports"] if row["name"] == name)
    return row.get("missing")


def mpi_missing():
    """Returns why there can be no MPI ranks here; None if there can."""
    launcher = os.environ.get("TUTTI_MPIRUN", "mpirun")
    return transport_missing("mpi") or (None if shutil.which(launcher) else f"no {launcher} to start ranks with")


def ucc_missing():
    """Returns why UCC cannot be measured here; None if it can."""
    row, = (row for row in json.loads(run("list", "--json").stdout)["baselines"] if row["name"] == "ucc")
    return mpi_missing() or row.get("missing")


def needs_mpi(test):
    reason = mpi_missing()
    return unittest.skipIf(reason, reason)(test)


def needs_ucx(test):
    reason = mpi_missing() or transport_missing("ucx")
    return unittest.skipIf(reason, reason)(test)


def said(stderr):
    """The lines of tutti itself, without those of the launcher and without progress."""
    how_far = re.compile(r"tutti: (\d+ of \d+ done|measuring the limits|(.*: )?launch \d+ of (at least )?\d+$)")
    return [line for line in stderr.splitlines() if line.startswith("tutti: ") and not how_far.match(line)]


def records(path):
    """The records of a results file, also while it is being written."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")[:-1] if Path(path).exists() else []
    return [json.loads(line) for line in lines]


def of_kind(path, kind):
    return [record for record in records(path) if record["kind"] == kind]


def points(path):
    return of_kind(path, "point")


def steps(path):
    """The steps of a workload by method, with their metrics by name."""
    return {step["key"]["way"]: step | {"metrics": {one["name"]: one["value"] for one in step.get("metrics", [])}}
            for step in of_kind(path, "step")}


def rows(table):
    """The cells of each row of results."""
    return [line.split() for line in table.splitlines() if line.startswith(" ")]


@contextlib.contextmanager
def busy_cores():
    """Two processes on each core that always compute."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


class Folder(unittest.TestCase):
    """A test with a folder of its own, and a results file in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = self.folder / "r.jsonl"

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def ok(self, *words, run=run, **environment):
        """Runs a command that must succeed without messages. Returns its output."""
        done = run(*words, **environment)
        self.assertEqual((done.returncode, said(done.stderr)), (0, []), done.stdout + done.stderr)
        return done.stdout

    def fails(self, code, *words, key="", run=run, **environment):
        """Runs a command that fails with this exit code and one line, in which the key is."""
        done = run(*words, **environment)
        lines = said(done.stderr) or done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (code, 1), done.stdout + done.stderr)
        self.assertIn(key, lines[0])
        return done
