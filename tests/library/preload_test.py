# SPDX-License-Identifier: Apache-2.0
"""Unmodified MPI programs get the same results when tutti does their collectives. The report has the saved time."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

HERE = Path(__file__).resolve().parent
LONG = os.environ.get("TUTTI_LONG") == "1"
RANKS = (8, 5) if LONG else (1, 2, 3, 4)  # tests with one number of ranks use the second
LAUNCHER = os.environ.get("TUTTI_MPIRUN", "mpirun")
FORTRAN = LAUNCHER.replace("mpirun", "mpifort")  # mpirun.mpich: mpifort.mpich
# CTest sets TUTTI to the path of the command, but programs would read it as the setting of the preload.
CLEAN = {name: value for name, value in tutti.CLEAN.items() if name != "TUTTI"}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
EVERYTHING = ("--with", "rules", "--always", "--after", "0")  # tutti does every call that it supports


def built(name):
    return str(Path(tutti.EXECUTABLE).with_name(name))


def run(ranks, *program, options=EVERYTHING, timeout=200, **environment):
    """Runs a program under 'tutti run', or alone if there are no options. Returns exit code, stdout and stderr."""
    before = (tutti.EXECUTABLE, "run", *options, "--") if options else ()
    done = subprocess.run([*before, tutti.MPI_RUN, str(ranks), *map(str, program)], capture_output=True, text=True,
                          timeout=timeout, check=False, stdin=subprocess.DEVNULL, env=CLEAN | environment)
    return done.returncode, done.stdout, done.stderr


def rows(report):
    """Returns the numbers of all calls and of those by tutti, for each collective in a report."""
    found = {}
    for name, calls, by_tutti in re.findall(r"^# (\w+) +\S+ +(\d+) +(\d+)", report, re.MULTILINE):
        before = found.get(name, (0, 0))
        found[name] = (before[0] + int(calls), before[1] + int(by_tutti))
    return found


def needs_the_standard_abi(test):
    """Skips the test if no program was built for the standard ABI, or the launcher belongs to another MPI library."""
    program = built("preload_conformance_abi")
    if not Path(program).exists():
        return unittest.skip("no mpicc_abi when this was configured")(test)
    together = run(2, program, options=None)[1].count("\n") == 1
    return unittest.skipUnless(together, "mpicc_abi is of another MPI library than the launcher")(test)


@tutti.needs_mpi
class Results(unittest.TestCase):
    def check(self, ranks, *program, says, **how):
        code, out, err = run(ranks, *program, **how)
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, says)

    def test_are_right_without_tutti(self):
        for ranks in RANKS:
            with self.subTest(ranks):
                self.check(ranks, built("preload_conformance"), says=r"^\d+ checks, 0 wrong\n$", options=None)

    def test_are_right_by_tutti(self):
        for ranks in RANKS:
            for heap in ((), ("--heap",)):
                with self.subTest(ranks=ranks, heap=heap):
                    self.check(ranks, built("preload_conformance"), says=r"^\d+ checks, 0 wrong\n$", options=(*EVERYTHING, *heap))

    @needs_the_standard_abi
    def test_are_right_through_the_standard_abi(self):
        for ranks in RANKS:
            for heap in ((), ("--heap",)):
                with self.subTest(ranks=ranks, heap=heap):
                    self.check(ranks, built("preload_conformance_abi"), says=r"^\d+ checks, 0 wrong\n$",
                               options=(*EVERYTHING, "--abi", *heap))
        report = run(2, built("preload_conformance_abi"), options=(*EVERYTHING, "--abi", "--report"))[2]
        self.assertGreater(rows(report)["all_reduce"][1], 0)

    @unittest.skipIf(LONG, "shown by the quick test")
    @needs_the_standard_abi
    def test_of_another_abi_come_from_the_library(self):
        for program, options, says in (("preload_conformance_abi", EVERYTHING, "use tutti run --abi"),
                                       ("preload_conformance", (*EVERYTHING, "--abi"), "without --abi")):
            with self.subTest(program):
                code, out, err = run(2, built(program), options=options)
                self.assertEqual(code, 0, out + err)
                self.assertRegex(out, r"^\d+ checks, 0 wrong\n$")
                self.assertEqual(err.count(says), 1, err)

    def test_are_right_while_it_learns(self):
        self.check(RANKS[1], built("preload_conformance"), says=r"^\d+ checks, 0 wrong\n$", options=("--after", "3"))

    def test_are_right_by_turns(self):
        code, out, err = run(RANKS[1], built("preload_conformance"), options=(*EVERYTHING, "--ab", "--block", "3"))
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"^\d+ checks, 0 wrong\n$")

    def test_leak_nothing_when_communicators_are_freed(self):
        many = 10_000 if LONG else 200
        self.check(2, built("preload_communicators"), many, says="^0 wrong;", timeout=550)

    def test_map_nothing_for_duplicates_of_a_communicator(self):
        for options in (EVERYTHING, ("--with", "rules", "--after", "10"), ()):
            with self.subTest(options):
                code, out, err = run(2, built("preload_duplicates"), 40, options=options)
                self.assertEqual((code, err), (0, ""), out)
                self.assertRegex(out, "^0 wrong;")
                print(*options, out, end="")

    @unittest.skipIf(LONG, "shown by the quick test")
    def test_of_chars_are_those_of_the_library(self):
        code, out, err = run(2, built("preload_chars"), options=(*EVERYTHING, "--report"))
        self.assertEqual((code, out), (0, "400 checks, 0 wrong\n"), err)
        calls, by_tutti = rows(err)["all_reduce"]
        self.assertEqual(calls, 400)
        self.assertGreater(by_tutti, 300)

    @unittest.skipUnless(LONG, "2 ranks with 1 GiB each")
    def test_of_too_large_blocks_come_from_the_library(self):
        code, out, err = run(2, built("preload_large"), options=(*EVERYTHING, "--report"))
        self.assertEqual((code, out), (0, ""), err)
        self.assertEqual(rows(err)["all_gather"], (1, 1))  # only the small one

    @unittest.skipIf(LONG, "shown by the quick test")
    @unittest.skipUnless(shutil.which(FORTRAN), f"no {FORTRAN}; use: apt-get install gfortran")
    def test_are_right_in_fortran(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "fortran"
            made = subprocess.run([FORTRAN, HERE / "preload_fortran.f90", "-o", program], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                self.skipTest(f"{FORTRAN} cannot compile: " + made.stderr.splitlines()[-1])
            for ranks in (2, 3):
                self.check(ranks, program, says="^0 wrong\n$")
            report = run(2, program, options=(*EVERYTHING, "--report"))[2]
            self.assertGreater(rows(report)["all_reduce"][1], 0)

    @unittest.skipIf(LONG, "shown by the quick test")
    @unittest.skipUnless(importlib.util.find_spec("mpi4py"), "no mpi4py; use: apt-get install python3-mpi4py")
    def test_are_right_in_python(self):
        self.check(2, sys.executable, HERE / "preload_mpi4py.py", says="^0 wrong\n$")


@tutti.needs_mpi
@unittest.skipIf(LONG, "shown by the quick test")
class Command(unittest.TestCase):
    def loaded(self, *words, before=(), **environment):
        """Starts a launcher with these words. Returns for it and for each of its ranks whether it has loaded the library."""
        done = subprocess.run([tutti.EXECUTABLE, "run", "--", *before, LAUNCHER, *words], capture_output=True, text=True, timeout=60,
                              check=False, env=CLEAN | AS_ROOT | environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted({line.split()[0]: int(line.split()[1]) > 0 for line in done.stdout.splitlines()}.items())

    def test_loads_the_library_into_ranks_only(self):
        with tempfile.TemporaryDirectory() as folder:
            script, app = Path(folder, "script"), Path(folder, "app")
            script.write_text("""for p in launcher:$PPID rank:$$; do echo ${p%:*} $(grep -c libtutti_mpi /proc/${p#*:}/maps); done""")
            app.write_text(f"-n 1 sh {script}\n")
            rank = ("-n", "1", "sh", script)
            only_ranks, both = [("launcher", False), ("rank", True)], [("launcher", True), ("rank", True)]
            self.assertEqual(self.loaded(*rank), only_ranks)
            self.assertEqual(self.loaded(*rank, before=("env",)), both)
            self.assertEqual(self.loaded(*rank, LD_PRELOAD="libm.so.6"), both)
            self.assertEqual(self.loaded(*rank, ":", *rank), both)
            if Path(shutil.which(LAUNCHER)).resolve().name == "orterun":
                self.assertEqual(self.loaded("--app", app), both)

    def test_reports_how_many_calls_tutti_did(self):
        code, out, err = run(2, built("preload_conformance"), options=(*EVERYTHING, "--report"))
        self.assertEqual(code, 0, out + err)
        kinds = rows(err)
        self.assertEqual(set(kinds), {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather",
                                      "all_to_all", "barrier", "scan", "exscan"})
        for name, (calls, by_tutti) in kinds.items():
            self.assertGreater(by_tutti, 0, name)
            self.assertLessEqual(by_tutti, calls, name)
        self.assertIn("of 2 ranks", err)

    def test_takes_over_the_given_collectives(self):
        err = run(2, built("preload_conformance"), options=(*EVERYTHING, "--report", "--collectives", "broadcast,gather"))[2]
        self.assertEqual(set(rows(err)), {"broadcast", "gather"})

    def test_leaves_slower_calls_on_shared_cores_to_the_library(self):
        words = ("--with", "rules", "--after", "0", "--report", "--collectives", "scan,gather")
        program = ("taskset", "--cpu-list", "0", built("preload_conformance"))
        for always in ((), ("--always",)):
            with self.subTest(always):
                code, out, err = run(2, *program, options=(*words, *always))
                self.assertEqual(code, 0, out + err)
                self.assertEqual(rows(err)["scan"][1] > 0, bool(always), err)

    def test_leaves_barriers_on_shared_cores_to_the_library(self):
        program = ("taskset", "--cpu-list", "0", built("preload_growing"), 300, 30)
        code, out, err = run(2, *program, options=("--with", "rules", "--report", "--collectives", "barrier"))
        self.assertEqual((code, out), (0, ""), err)
        calls, by_tutti = rows(err)["barrier"]
        self.assertEqual(calls, 330)
        self.assertLess(by_tutti, 100, "those before tutti has begun")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "the library does these calls if ranks share cores")
    def test_finds_blocks_that_grow(self):
        code, out, err = run(2, built("preload_growing"), 3000, 300, options=("--with", "rules", "--report"))
        self.assertEqual((code, out), (0, ""), err)
        self.assertRegex(err, r"# all_to_all +8K-16K +\d+ +[1-9]\d+ ")

    def test_leaves_the_first_calls_to_the_library(self):
        err = run(2, built("preload_conformance"), options=("--with", "rules", "--after", "1000000", "--report"))[2]
        self.assertEqual({by_tutti for _, by_tutti in rows(err).values()}, {0})

    def test_compares_by_turns(self):
        code, out, err = run(2, built("preload_turns"), options=("--with", "rules", "--after", "10", "--ab", "--block", "20"))
        self.assertEqual((code, out), (0, ""))
        self.assertRegex(err, r"# all_reduce +8K-16K +2000 +1000 +[\d.]+ +[\d.]+ +[+-][\d.]+ % +\[[+-][\d.]+ %, [+-][\d.]+ %\]")

    def test_reports_errors_to_the_programs_error_handler(self):
        code, out, err = run(2, built("preload_faults"), "different")
        self.assertEqual((code, out), (0, "0 wrong\n"), err)
        self.assertIn("different calls", err)

    def test_reports_a_block_that_is_longer_than_expected(self):
        code, out, err = run(2, built("preload_faults"), "length")
        self.assertEqual((code, out), (0, "0 wrong\n"), err)
        self.assertEqual(err.count("sends 44 bytes"), 2, err)

    def test_leaves_ranks_of_other_jobs_to_the_library(self):
        for options in (EVERYTHING, ("--with", "learn")):
            with self.subTest(options):
                code, out, err = run(1, built("preload_faults"), "spawn", options=options, timeout=60)
                self.assertEqual((code, out), (0, "0 wrong\n"), err)

    def test_ends_with_a_failed_rank(self):
        code, out, err = run(3, built("preload_faults"), "lost", timeout=60)
        self.assertNotEqual(code, 0)
        self.assertEqual(out.count("not reached"), 0, err)

    def test_does_nothing_when_it_is_off(self):
        self.assertEqual(run(2, built("preload_turns"), options=("--with", "off", "--report")), (0, "", ""))

    def test_rejects_invalid_options(self):
        for words, says in (((), "tutti run -- mpirun -np 4 ./program"),
                            (("--with", "magic", "--", "true"), "TUTTI=magic"),
                            (("--with", "./none.json", "--", "true"), "./none.json"),
                            (("--collectives", "all_reduc", "--", "true"), "did you mean 'all_reduce'?"),
                            (("--after", "soon", "--", "true"), "--after soon"),
                            (("--", "/no/such/program"), "cannot start")):
            with self.subTest(words):
                done = tutti.run("run", *words, TUTTI="")
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertIn(says, done.stderr)

    def test_continues_without_tutti_if_the_environment_is_invalid(self):
        library = built("libtutti_mpi.so")
        code, out, err = run(2, built("preload_turns"), options=None, LD_PRELOAD=library, TUTTI="magic")
        self.assertEqual((code, out), (0, ""))
        self.assertEqual(len(tutti.said(err)), 1, err)
        self.assertIn("without tutti: TUTTI=magic", err)

    def test_stays_out_of_jobs_on_several_hosts(self):
        code, out, err = run(2, "env", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "MPI_LOCALNRANKS=1", built("preload_turns"),
                             options=(*EVERYTHING, "--report"))
        self.assertEqual((code, out), (0, ""))
        said, = tutti.said(err)
        self.assertIn("several hosts", said)

    def test_uses_a_table(self):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "table.json"
            tuned = tutti.run_ranks(2, "tune", "all_reduce", "-b", "8K", "-e", "16K", "--algo", "ring", "--transport", "shm", "--baseline",
                                    "none", "--buffers", "unregistered", "--search", "exhaustive", "--repetitions", "3", "--model", "none",
                                    "--hold-out", "no", "--table", table)
            self.assertEqual(tuned.returncode, 0, tuned.stderr)
            code, out, err = run(2, built("preload_turns"), options=("--with", table, "--after", "0", "--report"))
            self.assertEqual((code, out), (0, ""), err)
            self.assertEqual(tutti.said(err), [])
            self.assertGreater(rows(err)["all_reduce"][1], 1900)

            edited = re.sub('"topology": "[0-9a-f]+"', '"topology": "0123"', table.read_text())
            table.write_text(edited)
            said = tutti.said(run(2, built("preload_turns"), options=("--with", table))[2])
            self.assertRegex(said[0], "--table-anyway")
            code, _, err = run(2, built("preload_turns"), options=("--with", table, "--table-anyway", "--after", "0", "--report"))
            self.assertEqual((code, tutti.said(err)), (0, []))
            self.assertGreater(rows(err)["all_reduce"][1], 1900)


if __name__ == "__main__":
    unittest.main()
