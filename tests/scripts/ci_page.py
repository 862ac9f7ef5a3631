# SPDX-License-Identifier: Apache-2.0
"""The files that docs/how-to/guarding_in_ci.md shows, and a place where their scripts run as the CI systems would run them. What a system
does besides (checking out, keeping artifacts, starting ranks) is done here instead."""
import os
import re
import subprocess
import unittest
from pathlib import Path

import ci_formats

ROOT = Path(__file__).resolve().parents[2]
TUTTI = os.environ.get("TUTTI", str(ROOT / "build/tutti"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"(?:#!.*\n)?(?:#|//) (\S+)")
# The environment of a CI machine, with what git needs for commits.
KEPT = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "TUTTI_MPIRUN") if name in os.environ}
KEPT |= {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t",
         "GIT_COMMITTER_EMAIL": "t@example.org", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow",
         "GIT_CONFIG_VALUE_0": "always"}


def files_of(text):
    """Returns {name: text} of the fenced blocks whose first line (after #!) names a file."""
    found = {}
    for _, block in FENCE.findall(text):
        name = NAMED.match(block)
        if name and re.fullmatch(r"[\w./-]+\.(sh|sbatch|yml)|Jenkinsfile", name[1]):
            found[name[1]] = block
    return found


def parsed(text):
    """YAML as a value; what is no YAML is refused."""
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise unittest.SkipTest("no yaml here; Debian has it in python3-yaml") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ci_formats.Refused(str(error)) from error


def shell_steps_of_jenkins(text):
    """Reads each script like Groovy: sh '''...''': a backslash before the line's end joins two lines."""
    if text.count("{") != text.count("}") or text.count("'''") % 2:
        raise ci_formats.Refused("braces or quotes that do not match")
    steps = [step.replace("\\\n", "") for step in re.findall(r"sh '''(.*?)'''", text, re.DOTALL)]
    if not steps or any("\\" in step for step in steps):
        raise ci_formats.Refused("no step, or a backslash that Groovy would take for its own")
    return steps


class Place:
    """A folder with tutti, with the sample of the page and its origin, where scripts run."""

    def __init__(self, folder, page):
        self.folder, self.files = folder, files_of(page)
        (folder / "bin").mkdir()
        (folder / "bin/tutti").symlink_to(Path(TUTTI).resolve())
        self.bash(self.files["sample.sh"], folder)
        self.sample, self.origin = folder / "sample", folder / "origin.git"
        self.git("push", "--quiet", "origin", "main", "change")

    def script(self, name):
        return self.files[name]

    def run(self, words, at, **environment):
        return subprocess.run(words, cwd=at, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
                              env=KEPT | {"PATH": f"{self.folder / 'bin'}:{KEPT['PATH']}"} | environment)

    def bash(self, text, at, *options, **environment):
        return self.run(["bash", *options, "-c", text], at, **environment)

    def git(self, *words, at=None):
        done = self.run(["git", *words], at or self.sample)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def change_takes(self, cost):
        """Sets the time of `change`; main takes 100."""
        (self.sample / "cost").write_text(f"{cost}\n", encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--allow-empty", "--message", f"takes {cost}")
        self.git("push", "--quiet", "origin", "change")

    def program_is_noisy(self):
        """Commits a program that takes 0.4 ms to 25 s, each octave equally often and above and below 100 ms in turns: no
        number of launches in seconds can decide about it."""
        (self.sample / "noisy").write_text("#!/bin/bash\n"
                                           "run=$(cat runs 2>/dev/null || echo 0); echo $((run + 1)) >runs\n"
                                           "us=$(((100000 + run * 61803 % 100000 << run * 7 % 16) >> 8))\n"
                                           "printf 'step took %d.%03d ms\\n' $((us / 1000)) $((us % 1000))\n",
                                           encoding="utf-8")
        (self.sample / "noisy").chmod(0o755)
        (self.sample / "Makefile").write_text("step: ; cp noisy step\n", encoding="utf-8")
        self.git("add", "noisy")
        self.git("commit", "--quiet", "--all", "--message", "noisy step")
        self.git("push", "--quiet", "origin", "change")

    def main_takes(self, cost):
        """Sets the time of main without the change."""
        self.git("checkout", "--quiet", "main")
        (self.sample / "cost").write_text(f"{cost}\n", encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--message", f"main takes {cost}")
        self.git("push", "--quiet", "origin", "main")
        self.git("checkout", "--quiet", "change")

    def base(self):
        """The commit where `change` began."""
        return self.git("merge-base", "main", "change")

    def checkout(self, whole=False):
        """Checks out like a runner: the last commit of the change, alone or with what came before, in a repository that knows no other
        branch."""
        at = self.folder / "work"
        at.mkdir()
        self.git("init", "--quiet", at=at)
        self.git("remote", "add", "origin", f"file://{self.origin}", at=at)
        self.git("fetch", "--quiet", *(() if whole else ("--depth", "1")), "origin", "change", at=at)
        self.git("checkout", "--quiet", "--detach", "FETCH_HEAD", at=at)
        return at
