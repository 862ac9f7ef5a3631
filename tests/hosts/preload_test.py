# SPDX-License-Identifier: Apache-2.0
"""Unmodified MPI programs on several hosts get the same results when tutti does their collectives."""
import re
import subprocess
import unittest
from pathlib import Path

import testhosts
import tutti

CONFORMANCE = str(Path(tutti.EXECUTABLE).with_name("preload_conformance"))
UNUSUAL = str(Path(tutti.EXECUTABLE).with_name("unusual_calls"))
NOT_ACROSS_HOSTS = ("shared_window", "windows")  # they share memory of all ranks
EVERYTHING = ("--with", "rules", "--always", "--after", "0")
CLEAN = {"TUTTI": ""}  # CTest sets it to the path of the command


def run(*layout, options=EVERYTHING):
    """Returns exit code, stdout and stderr of the program, whose ranks are started by 'tutti run'."""
    done = testhosts.run(*layout, "--", tutti.EXECUTABLE, "run", *options, "--", CONFORMANCE, timeout=200, **CLEAN)
    return done.returncode, done.stdout, done.stderr


@tutti.needs_mpi
class SeveralHosts(unittest.TestCase):
    def check(self, *layout, **how):
        code, out, err = run(*layout, **how)
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"^\d+ checks, 0 wrong\n$")

    def test_results_are_right(self):
        for hosts, ranks in ((2, 2), (3, 1)):
            with self.subTest(hosts=hosts, ranks=ranks):
                self.check("--hosts", hosts, "--ranks-per-host", ranks)

    def test_results_are_right_for_ranks_in_turn(self):
        self.check("--map", "node", options=(*EVERYTHING, "--heap"))

    def test_results_are_right_while_it_learns(self):
        self.check(options=("--after", "3"))

    def test_programs_that_do_unusual_things_print_the_same(self):
        listed = subprocess.run([UNUSUAL], capture_output=True, text=True, check=True).stdout
        names = [name for name in re.findall(r"^(\w+): ", listed, re.MULTILINE) if name not in NOT_ACROSS_HOSTS]
        for layout in (("--hosts", 3, "--ranks-per-host", 1), ("--hosts", 2, "--ranks-per-host", 2)):
            with self.subTest(layout):
                done = testhosts.run(*layout, "--", tutti.EXECUTABLE, "run", "--", UNUSUAL, *names, timeout=250, **CLEAN)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(re.findall(r"^(\w+) OK$", done.stdout, re.MULTILINE), names)

    def test_calls_are_done_by_tutti(self):
        code, out, err = run(options=(*EVERYTHING, "--report"))
        self.assertEqual(code, 0, out + err)
        self.assertIn("of 4 ranks", err)
        for kind in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather", "all_to_all", "barrier"):
            self.assertRegex(err, rf"# {kind} +\S+ +[1-9]\d* +[1-9]\d*")

    def test_a_launcher_that_starts_ranks_without_tutti_keeps_it_out(self):
        words = f'exec "$0" run -- $TESTHOSTS_MPIRUN {CONFORMANCE}'
        as_one_rank = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}  # srun --pty bash
        for environment in ({}, as_one_rank):
            with self.subTest(environment):
                variables = [f"{name}={value}" for name, value in environment.items()]
                done = testhosts.run("--on", "h0", "--", "env", *variables, "sh", "-c", words, tutti.EXECUTABLE, timeout=100, **CLEAN)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"^\d+ checks, 0 wrong\n$")
                said, = tutti.said(done.stderr)
                self.assertIn("mpirun -n 8 tutti run -- ./program", said)

    def test_other_settings_on_another_host_keep_it_out(self):
        for setting, rank in (("TUTTI_AFTER=0", 0), ("TUTTI_AFTER=0", 3), ("TUTTI_REPORT=1", 3)):
            with self.subTest(setting, rank=rank):
                words = f'[ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} != {rank} ] || export {setting}; exec "$0" run -- {CONFORMANCE}'
                done = testhosts.run("--", "sh", "-c", words, tutti.EXECUTABLE, timeout=100, **CLEAN)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"^\d+ checks, 0 wrong\n$")
                said, = tutti.said(done.stderr)
                self.assertIn("differ between hosts", said)


if __name__ == "__main__":
    testhosts.main()
