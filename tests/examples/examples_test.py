# SPDX-License-Identifier: Apache-2.0
"""The programs that show tutti as a library run and give right results, with one rank and with several, and
a program can have tutti as a part of it: the library alone."""
import json
import os
import re
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

SUM_GRADIENTS = str(Path(tutti.EXECUTABLE).with_name("sum_gradients"))


@tutti.needs_mpi
class SumGradients(tutti.Folder):
    def run_it(self, ranks, *words, **environment):
        done = subprocess.run([tutti.MPI_RUN, str(ranks), SUM_GRADIENTS, *map(str, words)], capture_output=True,
                              text=True, timeout=100, check=False, stdin=subprocess.DEVNULL,
                              env=tutti.CLEAN | environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_is_right_among_any_number_of_ranks(self):
        for ranks in (1, 2, 3, 4):
            self.assertRegex(self.run_it(ranks), f"^{ranks} ranks .* right\n$")

    def test_is_one_rank_without_a_launcher(self):
        done = tutti.run(program=SUM_GRADIENTS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "^1 ranks .* right\n$")

    def test_learns_and_leaves_a_table(self):
        table = self.folder / "learnt.json"
        self.assertIn("right", self.run_it(2, "--learn", table))
        sections = json.loads(table.read_text(encoding="utf-8"))["sections"]
        for section in sections:
            self.assertEqual(section["setting"]["ranks"], 2)


def example(name):
    return str(Path(tutti.EXECUTABLE).with_name(name))


PYTHON = "/usr/bin/python3"
SUM_IN_PYTHON = (PYTHON, "-B", str(tutti.ROOT / "docs/examples/sum_in_python.py"))


def needs_numpy(test):
    has = Path(PYTHON).exists() and subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode == 0
    has_library = Path(example("libtutti_c.so")).exists()
    return unittest.skipUnless(has and has_library, f"no numpy for {PYTHON}, or no C library in this build")(test)


def with_module():
    return tutti.CLEAN | {"PYTHONPATH": str(tutti.ROOT / "python"), "TUTTI_C_LIBRARY": example("libtutti_c.so")}


@tutti.needs_mpi
class OverMpi(tutti.Folder):
    def run_it(self, ranks, name, *words):
        done = subprocess.run([tutti.MPI_RUN, str(ranks), example(name), *map(str, words)], capture_output=True,
                              text=True, timeout=100, check=False, stdin=subprocess.DEVNULL, env=tutti.CLEAN)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_overlap_sums_right(self):
        for ranks in (1, 3):
            lines = sorted(self.run_it(ranks, "overlap").splitlines())
            self.assertEqual(lines, [f"rank {rank} of {ranks}: gradients right" for rank in range(ranks)])

    def test_registered_memory_gives_the_same_sums(self):
        self.assertRegex(self.run_it(2, "registered_memory", 1000),
                         r"^1000 floats .* agree$")

    def test_learning_keeps_a_table_that_the_next_run_begins_with(self):
        table = self.folder / "learnt.json"
        for _ in range(2):
            self.assertRegex(self.run_it(2, "learn_while_running", table, 1),
                             rf"^\d+ calls; \d+ sections .* {table}$")
            json.loads(table.read_text(encoding="utf-8"))

    @needs_numpy
    def test_a_program_in_python_sums_right(self):
        done = subprocess.run([tutti.MPI_RUN, "2", *SUM_IN_PYTHON, "mpi"], capture_output=True, text=True, timeout=100, check=False,
                              stdin=subprocess.DEVNULL, env=with_module())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = re.findall(r"rank \d of 2: \w+?(?=rank|$)", done.stdout, re.MULTILINE)  # the launcher may mix up the ends of lines
        self.assertEqual(sorted(said), [f"rank {rank} of 2: right" for rank in range(2)])

    def test_learning_prints_its_usage(self):
        done = tutti.run(program=example("learn_while_running"))
        self.assertIn("learn_while_running: usage: ", done.stderr)


class WithoutMpi(tutti.Folder):
    def test_a_schedule_of_ones_own_is_proved_counted_and_written(self):
        for ranks in range(1, 14):
            done = tutti.run(ranks, program=example("own_schedule"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"{ranks} ranks: proved; {ranks // 2} steps", done.stdout)
            self.assertIn(f" {ranks - 1} chunks sent", done.stdout)
        file = self.folder / "own.json"
        tutti.run(5, file, program=example("own_schedule"))
        schedule = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual((schedule["ranks"], len(schedule["steps"])), (5, 2))

    def test_threads_are_ranks(self):
        for ranks in (1, 2, 4):
            done = tutti.run(ranks, program=example("ranks_as_threads"))
            self.assertEqual((done.returncode, done.stdout), (0, f"{ranks} of {ranks} ranks right\n"), done.stderr)


class ByRendezvous(tutti.Folder):
    def run_ranks(self, ranks, *program):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        started = [subprocess.Popen([*program, f"tcp://127.0.0.1:{port}", str(rank), str(ranks)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, env=with_module())
                   for rank in range(ranks)]
        for rank, process in enumerate(started):
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (0, f"rank {rank} of {ranks}: right\n"), err)

    def test_processes_are_ranks(self):
        for ranks in (1, 2, 4):
            self.run_ranks(ranks, example("ranks_without_mpi"))

    def test_a_program_in_c_has_them_too(self):
        if not Path(example("sum_in_c")).exists():
            self.skipTest("this build installs nothing, so it has no C library")
        for ranks in (1, 3):
            self.run_ranks(ranks, example("sum_in_c"))

    @needs_numpy
    def test_a_program_in_python_has_them_too(self):
        self.run_ranks(2, *SUM_IN_PYTHON)

    def test_they_print_their_usage(self):
        for name in ("ranks_without_mpi", "sum_in_c"):
            if Path(example(name)).exists():
                for words in ((), (1,)):
                    self.assertIn(f"usage: {name} tcp://HOST:PORT RANK SIZE", tutti.run(*words, program=example(name)).stderr)


class PartOfAProgram(tutti.Folder):
    def test_brings_only_the_library(self):
        self.file("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(program CXX)\n"
                  f"add_subdirectory({tutti.ROOT} tutti)\nadd_executable(program program.cpp)\n"
                  "target_link_libraries(program PRIVATE tutti::tutti)\n")
        self.file("program.cpp", '#include <tutti/communicator.hpp>\n'
                  "int main() { return tutti::Communicator::self().size() - 1; }\n")
        cmake = os.environ.get("TUTTI_CMAKE", "cmake")
        done = subprocess.run([cmake, "-S", self.folder, "-B", self.folder / "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        commands = json.loads((self.folder / "build/compile_commands.json").read_text(encoding="utf-8"))
        files = {str(Path(command["file"])) for command in commands}
        self.assertTrue(any(file.endswith("library/communicator.cpp") for file in files))
        more = ("/tests/", "_bench", "/cli/", "/workloads/", "/docs/", ".cu")
        ours = [file.removeprefix(str(tutti.ROOT)) for file in files]
        self.assertEqual([file for file in ours if any(part in file for part in more)], [])
        program, = (command["command"] for command in commands if Path(command["file"]) == self.folder / "program.cpp")
        self.assertNotIn("-Wall", program, "the program's warnings are its own")
        self.assertRegex(program, r"-std=(c|gnu)\+\+20")


if __name__ == "__main__":
    unittest.main()
