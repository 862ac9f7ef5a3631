# SPDX-License-Identifier: Apache-2.0
"""Python programs do collectives: among processes of a rendezvous, under mpirun, and over mpi4py."""
import os
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402  (found through the line above)

HERE = Path(__file__).resolve().parent
LIBRARY = os.environ.get("TUTTI_C_LIBRARY", str(tutti.ROOT / "build/libtutti_c.so"))
ENVIRONMENT = tutti.CLEAN | {"PYTHONPATH": str(tutti.ROOT / "python"), "TUTTI_C_LIBRARY": LIBRARY, "OMP_NUM_THREADS": "1"}


def python_with(module):
    """Returns an interpreter that has this module; None if there is none."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if Path(python).exists() and subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def needs(module):
    return unittest.skipUnless(python_with(module), f"no Python with {module}; on Debian use: apt-get install python3-{module}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Python(unittest.TestCase):
    def start(self, ranks, words_of, module="ctypes", **environment):
        """Starts the ranks of python_ranks.py. Returns (exit code, stdout, stderr) of each."""
        started = [subprocess.Popen([python_with(module), "-B", HERE / "python_ranks.py", *words_of(rank)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                    env=ENVIRONMENT | {"RANK": str(rank)} | environment) for rank in range(ranks)]
        try:
            return [(process.returncode, out, err) for process in started
                    for out, err in [process.communicate(timeout=200 * tutti.PATIENCE)]]
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def by_rendezvous(self, ranks, part, module="ctypes"):
        address = f"tcp://127.0.0.1:{free_port()}"
        return self.start(ranks, lambda rank: (part, address, str(rank), str(ranks)), module)

    def all_right(self, ended):
        for code, out, err in ended:
            self.assertEqual((code, out), (0, "right\n"), "\n".join(each[2] for each in ended) + err)


class ByRendezvous(Python):
    @needs("numpy")
    def test_arrays_are_reduced_and_moved(self):
        for ranks in (1, 2, 3):
            self.all_right(self.by_rendezvous(ranks, "arrays", "numpy"))

    def test_buffers_are_without_numpy(self):
        self.all_right(self.by_rendezvous(2, "buffers"))

    @needs("torch")
    def test_tensors_are_by_dlpack(self):
        self.all_right(self.by_rendezvous(2, "tensors", "torch"))

    def test_ranks_are_found_in_the_environment(self):
        self.all_right(self.start(2, lambda _: ("buffers", "environment"), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                                  MASTER_PORT=str(free_port())))

    def test_different_calls_are_wrong_use(self):
        self.all_right(self.by_rendezvous(2, "different"))

    def test_lost_ranks_are_noticed(self):
        for part in ("lost", "lost_while_tested"):
            self.all_right(self.by_rendezvous(2, part))

    def test_a_rank_that_raises_does_not_wait(self):
        for part in ("unfinished", "dropped_at_the_end"):
            (first, out, err), (second, other, other_err) = self.by_rendezvous(2, part)
            self.assertEqual((first, out, second, other), (1, "right\n", 0, "right\n"), err + other_err)
            self.assertIn("as planned", err)


@tutti.needs_mpi
class UnderMpirun(Python):
    def mpirun(self, ranks, module, *words):
        done = subprocess.run([tutti.MPI_RUN, str(ranks), python_with(module), "-B", HERE / "python_ranks.py", *words],
                              capture_output=True, text=True, timeout=200 * tutti.PATIENCE, check=False, stdin=subprocess.DEVNULL,
                              env=ENVIRONMENT)
        self.assertEqual((done.returncode, done.stdout.count("right")), (0, ranks), done.stdout + done.stderr)

    @needs("numpy")
    def test_arrays_are_reduced_and_moved(self):
        self.mpirun(2, "numpy", "arrays", "mpi")

    def test_buffers_are_without_numpy(self):
        self.mpirun(3, "ctypes", "buffers", "mpi")

    @needs("mpi4py")
    def test_communicators_of_mpi4py_have_ranks(self):
        self.mpirun(2, "mpi4py", "buffers", "mpi4py")


class Comparison(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_with_c_alternates_in_one_launch(self):
        for words in (["--bytes", "80"], ["--mpi"] if tutti.mpi_missing() is None else []):
            done = subprocess.run([sys.executable, tutti.ROOT / "scripts/compare_python", "--rounds", "3", "--calls", "20", *words],
                                  capture_output=True, text=True, timeout=100 * tutti.PATIENCE, check=False, env=ENVIRONMENT)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = [line.split() for line in done.stdout.splitlines()[2:]]
            self.assertEqual([row[0] for row in rows], ["all_reduce", "all_gather", "broadcast"])
            self.assertTrue(all(float(row[1]) > 0 for row in rows), rows)


class Module(unittest.TestCase):
    def test_reads_results_without_the_library(self):
        code = "import tutti; print(*dir(tutti))"
        done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False,
                              env=ENVIRONMENT | {"TUTTI_C_LIBRARY": "/nowhere"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Communicator", done.stdout.split())
        done = subprocess.run([sys.executable, "-B", "-c", "import tutti; tutti.Communicator"], capture_output=True, text=True,
                              check=False, env=ENVIRONMENT | {"TUTTI_C_LIBRARY": "/nowhere"})
        self.assertIn("TUTTI_C_LIBRARY", done.stderr)


if __name__ == "__main__":
    unittest.main()
