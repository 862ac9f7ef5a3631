# SPDX-License-Identifier: Apache-2.0
"""Each example of docs/how-to/guarding_in_ci.md, run as its CI system would: a change that takes 100 (as main does) and one that takes 120."""
import sys
import tempfile
import unittest
from pathlib import Path

import ci_formats
import ci_page

sys.path.insert(0, str(ci_page.ROOT / "tests/cli"))
import tutti  # noqa: E402  # pylint: disable=wrong-import-position

PAGE = (ci_page.ROOT / "docs/how-to/guarding_in_ci.md").read_text(encoding="utf-8")
OK, SLOWER, WRONG, USAGE = 0, 1, 2, 64
SRUN = """#!/usr/bin/env bash
# Starts what Slurm's would: a job of tutti on two ranks under the MPI that is here, anything else as it stands.
while [[ $1 == --* ]]; do shift; done
echo "srun $*" >> "$STARTED"
unset "${!SLURM_@}"
case $* in
    *"tutti bench "*) exec "$MPI_RUN" 2 "$@" -n 1 -w 0 --sync barrier ;;
    *) exec "$@" ;;
esac
"""


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = ci_page.Place(Path(folder.name), PAGE)

    def assert_ends(self, done, code):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)

    def assert_accepted(self, view, path):
        with self.subTest(view):
            ci_formats.CHECKS[view][0](path.read_text(encoding="utf-8"))


class GitHub(Example):
    def job(self):
        """Its exit code, what its steps said, and its summary."""
        job = ci_page.parsed(self.place.script(".github/workflows/performance.yml"))["jobs"]["compare"]
        at, summary = self.place.checkout(), self.place.folder / "step_summary"
        summary.touch()
        code, said = 0, ""
        for step in job["steps"]:
            if code and step.get("if") != "always()":
                continue
            if "uses" in step:
                self.assertIn(step["uses"].split("@")[0], ("actions/checkout", "actions/upload-artifact"))
                self.assertTrue(all((at / path).exists() for path in step.get("with", {}).get("path", "").split()))
                continue
            (self.place.folder / "step.sh").write_text(step["run"], encoding="utf-8")
            done = self.place.run(["bash", "-e", str(self.place.folder / "step.sh")], at, GITHUB_BASE_REF="main", CI="true",
                                  GITHUB_STEP_SUMMARY=str(summary))
            code, said = code or done.returncode, said + done.stdout + done.stderr
        return code, said, summary.read_text(encoding="utf-8")

    def test_a_slower_change_fails(self):
        code, said, summary = self.job()
        self.assertEqual(code, SLOWER, said)
        annotations = [line for line in said.splitlines() if line.startswith("::")]
        self.assertEqual(len(annotations), 1, said)
        self.assertIn("+20.0 %25", annotations[0])
        ci_formats.github(annotations[0] + "\n")
        self.assertIn("compare: 1 slower, 0 faster", summary)

    def test_one_that_is_as_fast_does_not(self):
        self.place.change_takes(100)
        self.assertEqual(self.job()[::2], (OK, ""))

    def test_an_undecided_one_is_a_warning_with_a_summary(self):
        self.place.program_is_noisy()
        job = self.place.files[".github/workflows/performance.yml"]
        self.place.files[".github/workflows/performance.yml"] = job.replace("--json", "--budget 2s --json")
        code, said, summary = self.job()
        self.assertEqual(code, OK, said)
        annotation, = [line for line in said.splitlines() if line.startswith("::")]
        ci_formats.github(annotation + "\n")
        self.assertTrue(annotation.startswith("::warning "), annotation)
        for text in (annotation, summary):
            self.assertRegex(text, r"step.* \d.* %.*use ")
        ci_formats.markdown(summary)

    def test_one_that_cannot_be_built_fails_for_that(self):
        (self.place.sample / "Makefile").write_text("no rule\n", encoding="utf-8")
        self.place.change_takes(100)
        job = self.place.files[".github/workflows/performance.yml"]
        self.place.files[".github/workflows/performance.yml"] = job.replace("path: compare.jsonl", "path: ''")  # is ignored there
        code, said, _ = self.job()
        self.assertEqual(code, USAGE, said)


class GitLab(Example):
    def job(self):
        job = ci_page.parsed(self.place.script(".gitlab-ci.yml"))["performance"]
        at = self.place.checkout()
        done = self.place.bash("\n".join(job["script"]), at, "-eo", "pipefail", CI="true",
                               CI_MERGE_REQUEST_DIFF_BASE_SHA=self.place.base(), CI_PIPELINE_SOURCE="merge_request_event")
        for path in job["artifacts"]["paths"]:
            self.assertTrue((at / path).exists(), done.stdout + done.stderr)
        for report, view in (("junit", "junit"), ("codequality", "codequality"), ("metrics", "openmetrics")):
            self.assert_accepted(view, at / job["artifacts"]["reports"][report])
        return done, (at / job["artifacts"]["reports"]["codequality"]).read_text(encoding="utf-8")

    def test_a_slower_change_fails(self):
        done, issues = self.job()
        self.assert_ends(done, SLOWER)
        self.assertIn('"severity": "critical"', issues)

    def test_one_that_is_as_fast_does_not(self):
        self.place.change_takes(101)
        done, issues = self.job()
        self.assert_ends(done, OK)
        self.assertEqual(issues, "[]\n")


class Jenkins(Example):
    def test_a_slower_change_fails_and_one_that_is_as_fast_does_not(self):
        step, = ci_page.shell_steps_of_jenkins(self.place.script("Jenkinsfile"))
        at = self.place.checkout(whole=True)
        environment = {"CHANGE_TARGET": "main", "CHANGE_BRANCH": "change", "BRANCH_NAME": "PR-1"}
        self.assert_ends(self.place.run(["sh", "-xec", step], at, **environment), SLOWER)
        self.assert_accepted("junit", at / "junit.xml")
        (at / "cost").write_text("100\n", encoding="utf-8")
        self.assert_ends(self.place.run(["sh", "-xec", step], at, **environment), OK)
        self.assert_accepted("junit", at / "junit.xml")
        self.assertIn("junit testResults: 'junit.xml'", self.place.files["Jenkinsfile"])
        self.assertIn("artifacts: 'compare.jsonl'", self.place.files["Jenkinsfile"])


class Slurm(Example):
    def sbatch(self, name, *words):
        """The exit code of `sbatch --wait`: the script's own code, run with what the batch step has of Slurm."""
        tools = self.place.folder / "bin"
        (tools / "srun").write_text(SRUN, encoding="utf-8")
        (tools / "srun").chmod(0o755)
        script = self.place.folder / name
        script.write_text(self.place.script(name), encoding="utf-8")
        self.started = self.place.folder / "started"
        options = dict(line.split()[1].partition("=")[::2] for line in script.read_text(encoding="utf-8").splitlines()
                       if line.startswith("#SBATCH "))
        return self.place.run(["bash", str(script), *words], self.place.sample, SLURM_JOB_ID="7", SLURM_NTASKS=options["--ntasks"],
                              SLURM_NNODES=options["--nodes"], SLURM_PROCID="0", SLURM_NODEID="0", SLURM_LOCALID="0",
                              SLURM_SUBMIT_DIR=str(self.place.sample), SLURM_NODELIST="node1", STARTED=str(self.started),
                              MPI_RUN=str(ci_page.ROOT / "scripts/lib/mpi.sh"))

    def test_a_slower_change_fails(self):
        self.assert_ends(self.sbatch("performance.sbatch", "main"), SLOWER)
        starts = self.started.read_text(encoding="utf-8").splitlines()
        self.assertGreaterEqual(len(starts), 7 * 2, "a launch of A and of B, each by srun")
        self.assertEqual(set(starts), {"srun ./step"})
        left = [path.name for path in self.place.sample.iterdir() if path.name.startswith("tmp")]
        self.assertEqual(left, [], "the base is still there")

    @tutti.needs_mpi
    def test_launches_of_a_sweep_share_a_file(self):
        done = self.sbatch("sweep.sbatch")
        self.assertEqual(done.stdout.count("exit code 0"), 3, done.stdout + done.stderr)
        self.assertEqual((self.place.sample / "sweep.jsonl").read_text(encoding="utf-8").count('"kind":"session"'), 3)
        if (self.place.sample / "sweep.html").exists():  # made by matplotlib, if that is here
            self.assert_ends(done, OK)

    @tutti.needs_mpi
    def test_the_worst_exit_code_of_a_sweep_counts(self):
        self.place.files["sweep.sbatch"] = self.place.files["sweep.sbatch"].replace("bench all_reduce", "bench no_such")
        self.assert_ends(self.sbatch("sweep.sbatch"), USAGE)


class Shell(Example):
    def test_a_slower_change_fails_and_one_that_is_as_fast_does_not(self):
        script = self.place.script("performance.sh")
        done = self.place.bash(script, self.place.sample)
        self.assert_ends(done, SLOWER)
        self.assertIn("| +20.0 % |", done.stdout.split("\nslower\n")[1])
        self.place.change_takes(100)
        done = self.place.bash(script, self.place.sample)
        self.assert_ends(done, OK)
        self.assertTrue(done.stdout.endswith("not slower\n"), done.stdout)

    def test_what_is_not_compared_keeps_no_summary_of_an_earlier_run(self):
        script = self.place.script("performance.sh")
        self.assert_ends(self.place.bash(script, self.place.sample), SLOWER)
        (self.place.sample / "Makefile").write_text("no rule\n", encoding="utf-8")
        self.place.change_takes(100)
        done = self.place.bash(script, self.place.sample)
        self.assert_ends(done, USAGE)
        self.assertTrue(done.stdout.endswith("nothing was compared\n"), done.stdout)
        self.assertFalse((self.place.sample / "summary.md").exists())

    def test_what_others_did_to_the_target_since_is_no_part_of_the_change(self):
        self.place.change_takes(100)
        self.place.main_takes(80)
        done = self.place.bash(self.place.script("performance.sh"), self.place.sample)
        self.assert_ends(done, OK)

    def test_a_program_that_fails_is_told_from_a_slower_one(self):
        (self.place.sample / "Makefile").write_text("step: cost; echo 'exit 3' > step && chmod +x step\n", encoding="utf-8")
        self.place.change_takes(100)
        done = self.place.bash(self.place.script("performance.sh"), self.place.sample)
        self.assert_ends(done, WRONG)
        self.assertIn("do not matter", done.stdout)

    def test_each_night_main_is_compared_with_what_was_good(self):
        script = self.place.folder / "nightly.sh"
        script.write_text(self.place.script("nightly.sh"), encoding="utf-8")
        checkout = self.place.folder / "nightly"
        self.place.git("clone", "--quiet", str(self.place.origin), str(checkout))

        def night(cost):
            (self.place.sample / "cost").write_text(f"{cost}\n", encoding="utf-8")
            self.place.git("commit", "--quiet", "--all", "--allow-empty", "--message", f"takes {cost}")
            self.place.git("push", "--quiet", "--force", "origin", "HEAD:main")
            done = self.place.run(["bash", str(script), str(checkout)], self.place.folder)
            return done.returncode, done.stdout + done.stderr

        self.assertEqual(night(100), (OK, ""), "the first is good")
        self.assertEqual(night(101), (OK, ""), "as fast, so good")
        for _ in range(2):
            code, said = night(130)
            self.assertEqual(code, SLOWER, said)
            self.assertIn("1 slower", said)
        self.assertEqual(night(102), (OK, ""))

    def test_a_night_that_decides_nothing_makes_nothing_good(self):
        script = self.place.folder / "nightly.sh"
        script.write_text(self.place.script("nightly.sh").replace("--budget 10m", "--budget 2s"), encoding="utf-8")
        checkout = self.place.folder / "nightly"
        self.place.git("clone", "--quiet", str(self.place.origin), str(checkout))

        def night():
            done = self.place.run(["bash", str(script), str(checkout)], self.place.folder)
            ref = self.place.git("-C", str(checkout), "rev-parse", "refs/performance/good")
            return done.returncode, done.stdout + done.stderr, ref

        _, _, good = night()
        self.place.program_is_noisy()
        self.place.git("push", "--quiet", "--force", "origin", "HEAD:main")
        self.assertEqual(night(), (3, "", good))


class Page(unittest.TestCase):
    def test_what_is_no_yaml_is_seen(self):
        for name in (".github/workflows/performance.yml", ".gitlab-ci.yml"):
            text = ci_page.files_of(PAGE)[name]
            self.assertIsInstance(ci_page.parsed(text), dict)
            with self.subTest(name), self.assertRaises(ci_formats.Refused):
                ci_page.parsed(text.replace("    ", "\t", 1))

    def test_what_groovy_would_take_for_its_own_is_seen(self):
        text = ci_page.files_of(PAGE)["Jenkinsfile"]
        for whole, broken in (("[0-9.]", "\\d"), ("'''", "''"), ("always {", "always ")):
            with self.subTest(broken), self.assertRaises(ci_formats.Refused):
                ci_page.shell_steps_of_jenkins(text.replace(whole, broken, 1))

    def test_all_files_of_the_page_are_known_here(self):
        self.assertEqual(set(ci_page.files_of(PAGE)), {"sample.sh", ".github/workflows/performance.yml", ".gitlab-ci.yml",
                         "Jenkinsfile", "performance.sbatch", "sweep.sbatch", "performance.sh", "nightly.sh"})


if __name__ == "__main__":
    unittest.main()
