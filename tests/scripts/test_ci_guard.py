# SPDX-License-Identifier: Apache-2.0
"""scripts/ci_guard, and tutti ci-guard, on a small project whose program says how long it takes."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUARD = ROOT / "scripts/ci_guard"
TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
METRIC = ("--program", "./step", "--metric", "took ([0-9]+)")


class CiGuard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Path(folder.name)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(100)
        self.git("tag", "base")

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=self.project,
                       check=True, capture_output=True)

    def commit(self, took):
        """The program is made by a build, of what is committed."""
        (self.project / "took").write_text(f"{took}\n", encoding="utf-8")
        (self.project / "make").write_text("echo \"echo took $(cat took)\" > step; chmod +x step\n", encoding="utf-8")
        self.git("add", "took", "make")
        self.git("commit", "--quiet", "--message", f"takes {took}")

    def guard(self, *words, by=(GUARD,), **environment):
        return subprocess.run([*by, *words], cwd=self.project, capture_output=True, text=True, check=False,
                              timeout=120, env=os.environ | {"TUTTI": TUTTI} | environment)

    def test_a_slower_commit_fails(self):
        self.commit(120)
        done = self.guard("base", "--build", "sh make", *METRIC)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("+20.0 %", done.stdout)

    def test_the_command_does_the_same(self):
        self.commit(120)
        done = self.guard("base", "--build=sh make", *METRIC, by=(TUTTI, "ci-guard"), TUTTI="/no/such/tutti")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("+20.0 %", done.stdout)
        done = self.guard("no-such-branch", by=(TUTTI, "ci-guard"))
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("git fetch origin no-such-branch", done.stderr)

    def test_one_that_is_as_fast_does_not(self):
        self.commit(101)
        self.assertEqual(self.guard("base", "--build", "sh make", *METRIC).returncode, 0)

    def test_what_an_older_build_left_has_no_say(self):
        """A build that believes what it finds: its program was made when a step took 100."""
        keeps = "test -e step || sh make"
        subprocess.run(["sh", "-c", keeps], cwd=self.project, check=True)
        self.commit(120)
        done = self.guard("base", "--build", keeps, *METRIC)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_changes_that_are_not_committed_count(self):
        (self.project / "took").write_text("120\n", encoding="utf-8")
        done = self.guard("base", "--build", "sh make", *METRIC)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("not committed", done.stdout)
        self.assertEqual((self.project / "took").read_text(encoding="utf-8"), "120\n")

    def test_a_base_that_does_not_build_is_named(self):
        self.git("rm", "--quiet", "make")
        self.git("commit", "--quiet", "--message", "cannot be built")
        self.git("tag", "broken")
        self.commit(100)
        done = self.guard("broken", "--build", "sh make", *METRIC)
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("the base, ", done.stderr)

    def test_nothing_is_left_behind(self):
        self.guard("base", "--build", "sh make", *METRIC)
        worktrees = subprocess.run(["git", "worktree", "list"], cwd=self.project, capture_output=True, text=True,
                                   check=True).stdout
        self.assertEqual(len(worktrees.splitlines()), 1, worktrees)

    def test_what_cannot_be_done_says_what_to_type(self):
        for words, says in (((), "tutti ci-guard BASE_REF"), (("no-such-branch",), "git fetch origin no-such-branch"),
                            (("base", "--build"), "--build needs a command"), (("base", "--program", ""), "--program needs a command"),
                            (("base", "--build", "false"), "use --build")):
            with self.subTest(words):
                done = self.guard(*words)
                self.assertEqual(done.returncode, 64, done.stdout)
                self.assertIn(says, done.stderr)

    def test_what_fails_before_the_comparison_does_not_pass_for_slower(self):
        done = self.guard("base", "--build", "sh make", *METRIC, TMPDIR="/no/such/folder")
        self.assertEqual(done.returncode, 64, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
