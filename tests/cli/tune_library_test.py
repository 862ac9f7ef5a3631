# SPDX-License-Identifier: Apache-2.0
"""The MPI library itself, tuned in one command: its file is proved and complete, or absent."""
import re
import subprocess
import unittest

import tutti
from export_test import open_mpi_4

LAUNCHER = f"{tutti.MPI_RUN} 2"


def tuned(test, *words, **how):
    """Runs 'tutti tune' and returns its output. A slow machine may make too few pairs of jobs."""
    done = tutti.run(*words, **how)
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    test.assertEqual([line for line in tutti.said(done.stderr) if "pairs of jobs" not in line], [])
    return done.stdout


@unittest.skipUnless(open_mpi_4(), "this build is not for Open MPI 4")
class TuneLibrary(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.rules = self.folder / "rules.conf"

    def words(self, *more):
        return ("tune", *more, "--library", "openmpi", "--output", self.rules)

    def test_keeps_earlier_choices_and_the_parameters_that_the_library_had(self):
        table = self.folder / "rules.conf.json"
        done = tutti.run_ranks(2, "tune", "broadcast", "--algo", "none", "--baseline", "mpi/chain", "--radix", 4, "--model", "none",
                               "--hold-out", "no", "-b", "64K", "-e", "64K", "--segment", "8K", "--buffers", "unregistered",
                               "--table", table)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"radix": 4', table.read_text())
        tuned(self, *self.words("reduce", "--launcher", LAUNCHER, "-b", 8, "-e", 8, "--launches", 1, "--budget", "15s"), timeout=120)
        self.assertIn("broadcast on 2 ranks", self.rules.read_text())
        self.assertIn('"algorithm": "chain"', table.read_text())

    def test_writes_a_file_of_choices_that_were_faster_in_fresh_launches(self):
        self.rules.write_text("older")
        out = tuned(self, *self.words("reduce_scatter", "--launcher", LAUNCHER, "-b", "8", "-e", "256K", "-f", 32, "--launches", 2,
                                      "--budget", "40s"), timeout=300)
        rows = re.findall(r"^reduce_scatter +(\d+K?) +([\d.]+) +([\d.]+) +([\d.]+) \[([\d.]+), ([\d.]+)\]   (\S+)(.*)$", out, re.M)
        self.assertIn([row[0] for row in rows], ([], ["8", "256", "8K", "256K"]), out)
        for _, _, _, ratio, low, high, choice, note in rows:
            self.assertTrue(float(low) <= float(ratio) <= float(high), out)
            if choice != "default" and float(low) > 1:
                self.assertIn("taken out", note, out)
        self.assertEqual(list(self.folder.glob("*unproved*")), [])
        if self.rules.read_text() == "older":  # the default is the fastest here
            self.assertIn("older choices", out)
            return
        self.assertIn(f"OMPI_MCA_coll_tuned_dynamic_rules_filename={self.rules}\n", out)
        self.ok("export", f"{self.rules}.json", "--to", "openmpi4", "--check", "--launcher", LAUNCHER, timeout=120)
        self.assertEqual(self.rules.read_text().count("job script"), 1)

    def test_says_if_too_few_pairs_of_jobs_fit_into_the_budget(self):
        slow = self.folder / "slow"
        slow.write_text(f'#!/bin/sh\nsleep 3\nexec {LAUNCHER} "$@"\n')
        slow.chmod(0o755)
        done = tutti.run(*self.words("reduce_scatter", "--launcher", slow, "-b", "8", "-e", "256K", "-f", 32, "--launches", 1,
                                     "--budget", "45s"), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "stage 1" in done.stderr:  # otherwise, the search chose the default
            self.assertRegex(done.stderr, r"only [1-5] of")
            self.assertFalse(self.rules.exists())

    def test_leaves_no_file_if_a_launch_fails(self):
        done = tutti.run(*self.words("reduce", "--launcher", "false", "-e", "64"))
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(self.rules.exists())

    def test_is_refused_in_one_line(self):
        started = ("--launcher", LAUNCHER)
        for key, words in (("--launcher", ()), ("--algo", (*started, "--algo", "ring")), ("--baseline", (*started, "--baseline", "mpi")),
                           ("-d", (*started, "-d", "float,half")), ("--ranks", ("--ranks", 2))):
            with self.subTest(key=key):
                self.fails(64, *self.words(*words), key=key)
        for variable in ("use_dynamic_rules", "bcast_algorithm_segmentsize"):
            self.fails(64, *self.words(*started), key=variable, **{f"OMPI_MCA_coll_tuned_{variable}": "1"})
        for words in (("--hold-out", "no"), ("--hold-out", "only"), ("--hold-out", "no", "--table", "t")):
            self.fails(64, *self.words(*started, *words), key="always compares")
        self.fails(64, *self.words("--hold-out", "no"), key="always compares")
        self.fails(64, "tune", "--library", "other", *started, key="openmpi")
        self.fails(64, "tune", "--library", "mpich", *started, key="a build for MPICH")
        self.fails(64, "tune", "--library", "han", *started, key="a build for Open MPI 5")
        if tutti.ucc_missing():
            self.fails(64, "tune", "--library", "ucc", *started, key="a build for UCC")
        self.fails(64, "tune", "--output", "x", key="--library")
        self.fails(64, "tune", "--listen", "x", key="--library")
        self.fails(64, "tune", "--commutative", key="--library")


def mpich():
    return not tutti.mpi_missing() and "MPI MPICH" in tutti.run("--version").stdout


@unittest.skipUnless(mpich(), "this build is not for MPICH")
class TuneMpich(tutti.Folder):
    def test_writes_a_selection_that_the_library_reads(self):
        selection = self.folder / "selection.json"
        done = tutti.run("tune", "reduce_scatter,all_to_all", "--library", "mpich", "--output", selection, "--launcher", LAUNCHER, "-b", 8,
                         "-e", "256K", "-f", 32, "--launches", 2, "--budget", "60s", timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        if selection.exists():  # else the default is the fastest here
            self.assertIn("not checked", done.stdout)
            self.assertIn(f"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={selection}\n", done.stdout)
            self.runs_with(selection)

    def test_reads_an_exported_selection(self):
        table, selection = self.folder / "table.json", self.folder / "selection.json"
        done = tutti.run_ranks(2, "tune", "reduce_scatter", "--algo", "none", "--baseline", "mpi/pairwise", "--model", "none", "--hold-out",
                               "no", "-b", "8", "-e", "256K", "-f", 32, "--buffers", "unregistered", "--table", table)
        self.assertEqual(done.returncode, 0, done.stderr)
        library = next(line.split()[2] for line in subprocess.run(["ldd", tutti.EXECUTABLE], capture_output=True, text=True,
                                                                  check=True).stdout.splitlines() if "libmpich" in line)
        self.ok("export", table, "--to", "mpich", "--base", library, "-o", selection)
        self.assertIn("intra_pairwise", selection.read_text())
        self.runs_with(selection)

    def runs_with(self, selection):
        done = tutti.run_ranks(2, "bench", "reduce_scatter", "--algo", "none", "--baseline", "mpi", "-b", 8, "-e", "256K", "-f", 32,
                               "--limits", "none", MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=str(selection))
        self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipIf(tutti.ucc_missing(), tutti.ucc_missing())
class TuneUcc(tutti.Folder):
    def test_writes_a_file_if_and_only_if_a_choice_remains(self):
        file = self.folder / "ucc.conf"
        done = tutti.run("tune", "all_gather,reduce_scatter", "--library", "ucc", "--output", file, "--launcher", f"{tutti.MPI_RUN} 4",
                         "-b", 8, "-e", "256K", "-f", 32, "--launches", 2, "--budget", "60s", timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("UCC 1.", done.stdout)
        rows = re.findall(r"^(?:all_gather|reduce_scatter) .*\]   (\S+)(.*)$", done.stdout, re.M)
        remains = any(choice != "default" and "taken out" not in note for choice, note in rows)
        self.assertEqual(file.exists(), remains, done.stdout)
        self.assertEqual("ucc.conf is not written" in done.stdout, not remains, done.stdout)
        if remains:
            self.assertRegex(file.read_text(), r"\nexport UCC_TL_UCP_TUNE='(allgather|reduce_scatter):")
            self.assertIn(f". {file}\n", done.stdout)

    def test_exports_a_variable_that_the_library_obeys(self):
        table, file = self.folder / "table.json", self.folder / "ucc.conf"
        done = tutti.run_ranks(4, "tune", "all_gather", "--algo", "none", "--baseline", "ucc/ring", "--model", "none", "--hold-out", "no",
                               "-b", 8, "-e", "256K", "-f", 32, "--buffers", "unregistered", "--table", table)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.ok("export", table, "--to", "ucc", "-o", file)
        value = re.search(r"^export UCC_TL_UCP_TUNE='(.*)'$", file.read_text(), re.M)[1]
        self.assertEqual(value, "allgather:8-524287:[4]:@ring:inf")
        functions = self.functions_by_range(UCC_TL_UCP_TUNE=value)
        if not functions:
            self.skipTest("this version of UCC does not print its choices")
        for sizes, function in functions.items():
            inside = sizes in ("8..4095", "4K..524287")
            self.assertEqual("_ring_" in function, inside, functions)
        self.assertFalse(any("_ring_" in function for function in self.functions_by_range().values()))

    def test_finds_a_variable_that_the_library_refuses(self):
        self.assertIn("UCC  ERROR", self.said_by_ucc(UCC_TL_UCP_TUNE="allgather:8-524287:[4]:@other:inf"))

    def said_by_ucc(self, **environment):
        done = tutti.run_ranks(4, "bench", "all_gather", "--algo", "none", "--baseline", "ucc", *tutti.QUICK, "--counts", 10, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def functions_by_range(self, **environment):
        """The functions that UCC names for all_gather, by its ranges of sizes."""
        said = self.said_by_ucc(UCC_LOG_LEVEL="debug", **environment)
        self.assertNotIn("UCC  ERROR", said)
        line = re.search(r"Allgather:\n.*Host: (.*)", said)
        return dict(re.findall(r"\{(\S+)\}:TL_UCP:\w+=(\w+)", line[1] if line else ""))

    def test_is_refused_next_to_a_variable_of_the_user(self):
        self.fails(64, "tune", "all_reduce", "--library", "ucc", "--launcher", LAUNCHER, key="UCC_TL_UCP_TUNE", UCC_TL_UCP_TUNE="inf")


if __name__ == "__main__":
    unittest.main()
