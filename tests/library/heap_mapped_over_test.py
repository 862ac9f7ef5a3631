# SPDX-License-Identifier: Apache-2.0
"""MPI programs that map over, unmap, move, discard or protect memory of malloc get correct results with the heap."""
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

PROGRAM = str(Path(tutti.EXECUTABLE).with_name("preload_mapped_over"))
CLEAN = {name: value for name, value in tutti.CLEAN.items() if name != "TUTTI"}


@tutti.needs_mpi
class MemoryOfTheProgramInTheHeap(unittest.TestCase):
    def check(self, ranks, *options, **environment):
        done = subprocess.run([tutti.EXECUTABLE, "run", "--heap", *options, "--", tutti.MPI_RUN, str(ranks), PROGRAM],
                              capture_output=True, text=True, timeout=200, check=False, stdin=subprocess.DEVNULL,
                              env=CLEAN | environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"^\d+ checks, 0 wrong\n$")

    def test_results_are_right_if_tutti_does_all_calls(self):
        for ranks in (2, 3, 4):
            with self.subTest(ranks):
                self.check(ranks, "--with", "rules", "--always", "--after", "0")

    def test_results_are_right_if_tutti_does_some_calls(self):
        self.check(2)

    @tutti.needs_ucx
    def test_results_are_right_if_open_mpi_replaces_the_same_functions(self):
        info = subprocess.run(["ompi_info"], capture_output=True, text=True, check=False) if shutil.which("ompi_info") else None
        if info is None or "MCA pml: ucx" not in info.stdout or "MCA memory: patcher" not in info.stdout:
            self.skipTest("this MPI library does not replace them")
        self.check(2, "--with", "rules", "--always", "--after", "0", OMPI_MCA_pml="ucx", OMPI_MCA_opal_common_ucx_opal_mem_hooks="1",
                   OMPI_MCA_opal_common_ucx_tls="any", OMPI_MCA_opal_common_ucx_devices="any")


if __name__ == "__main__":
    unittest.main()
