# SPDX-License-Identifier: Apache-2.0
"""Plans in heaps that peers map are right between processes, whatever buffers each rank gives from call to call."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402


@tutti.needs_mpi
class MappedOverMpi(unittest.TestCase):
    def test_is_right_for_every_algorithm(self):
        for ranks in (2, 3, 5):
            with self.subTest(ranks):
                self.assertEqual(tutti.run_program("mapped_over_mpi", ranks)[::2], (0, ""))


class MappedBuffers(tutti.Folder):
    def bench(self, *words, **environment):
        return tutti.run_ranks(2, "bench", "all_reduce", "--algo", "ring", *words, *tutti.QUICK, **environment)

    @tutti.needs_mpi
    def test_are_measured_beside_others_and_checked(self):
        file = self.folder / "all.jsonl"
        done = self.bench("--transport", "shm,shm-mapped", "--buffers", "registered,mapped", "-b", "8", "-e", "4M", "-f", "16",
                          "--json", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" : 0 OK", done.stdout)
        self.assertIn("# mapped buffers\n", done.stdout)
        self.assertEqual({point["key"]["buf"] for point in tutti.points(file)}, {"registered", "mapped"})

    def test_are_of_threads_too(self):
        done = tutti.run("bench", "all_gather", "--ranks", 3, "--transport", "shm", "--algo", "all", "--buffers", "mapped",
                         "-b", "64K", "-e", "64K", *tutti.QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" : 0 OK", done.stdout)

    def refusal(self, *words, **environment):
        done = tutti.run("bench", "all_reduce", "--ranks", 2, "--algo", "ring", "--transport", "shm", "-b", 8, "-e", 8,
                         "--buffers", "mapped", *tutti.QUICK, *words, **environment)
        self.assertEqual(done.returncode, 64, done.stdout)
        line, = tutti.said(done.stderr)
        return line

    def test_are_refused_where_there_is_no_library(self):
        copy = self.folder / "tutti"
        copy.write_bytes(Path(tutti.EXECUTABLE).read_bytes())
        copy.chmod(0o755)
        self.assertIn("libtutti_heap.so", self.refusal(program=copy))

    def test_are_refused_where_the_heap_is_off(self):
        self.assertIn("heap is off", self.refusal(TUTTI_HEAP_THRESHOLD="off"))


if __name__ == "__main__":
    unittest.main()
