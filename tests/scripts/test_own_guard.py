# SPDX-License-Identifier: Apache-2.0
"""scripts/ci_guard from end to end: on a program that is compiled and takes time, and on the tutti that was just built."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUARD = ROOT / "scripts/ci_guard"
TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
OK, SLOWER = 0, 1
# The step prints CPU time, because other tests may run at the same time.
STEP = """\
#include <cstdio>
#include <ctime>
int main() {
    volatile double sum = 0;
    const std::clock_t begin = std::clock();
    for (int i = 0; i < ROUNDS; ++i) sum = sum + i;
    std::printf("took %.3f ms\\n", 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}
"""
# A change must be larger here: it is the path that is tested, not the machine.
COMPARE = ("--min-effect", "10%", "--budget", "25s", "--fail-on", "slower,faster")


class Guard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Path(folder.name)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=self.project, check=True,
                       capture_output=True)

    def commit(self, name, text):
        (self.project / name).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", name)

    def guard(self, *words):
        """Runs the guard and returns its exit code and output. It must remove its checkout."""
        done = subprocess.run([GUARD, *words], cwd=self.project, capture_output=True, text=True, check=False, timeout=120,
                              env=os.environ | {"TUTTI": TUTTI})
        worktrees = subprocess.run(["git", "worktree", "list"], cwd=self.project, capture_output=True, text=True, check=True)
        self.assertEqual(len(worktrees.stdout.splitlines()), 1, worktrees.stdout)
        return done.returncode, done.stdout + done.stderr


@unittest.skipIf(shutil.which("c++") is None, "no c++ here to build a program with")
class OfAProgram(Guard):
    def compiled(self, *words):
        return self.guard("base", "--build", "c++ -O1 -o step step.cpp", "--program", "./step", "--metric",
                          "took ([0-9.]+) ms", *COMPARE, *words)

    def test_more_work_is_slower_and_the_same_is_not(self):
        self.commit("step.cpp", STEP.replace("ROUNDS", "4'000'000"))
        self.git("tag", "base")
        self.commit("README", "other words\n")
        code, said = self.compiled()
        self.assertEqual(code, OK, said)
        self.commit("step.cpp", STEP.replace("ROUNDS", "8'000'000"))
        code, said = self.compiled()
        self.assertEqual(code, SLOWER, said)


class OfTutti(Guard):
    def test_the_same_build_is_neither_slower_nor_faster(self):
        # A project whose build gives the tutti that is there: what scripts/build would make of two commits alike.
        build = f"mkdir -p build && ln -sf '{Path(TUTTI).resolve()}' build/tutti"
        self.commit(".gitignore", "build\n")
        code, said = self.guard("HEAD", "--build", build, *COMPARE, "--threads", "--quads", "2", "--json", "compare.jsonl",
                                "--", "bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none",
                                "--counts", "1024", "--inplace", "no")
        self.assertEqual(code, OK, said)
        self.assertRegex(said, r"all_reduce 4K .* (same|undecided)\n")
        self.assertIn('"kind":"verdict"', (self.project / "compare.jsonl").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
