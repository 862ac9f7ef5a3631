# SPDX-License-Identifier: Apache-2.0
"""Shells complete commands, options and values as the command knows them."""
import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest
from pathlib import Path

import tutti

# Maps typed words to their completion, or to the offered word.
TYPED = {"tutti ben": "bench", "tutti workload param": "parameter-server", "tutti results sch": "schema",
         "tutti bench all_red": "all_reduce", "tutti bench --transp": "--transport", "tutti bench --inplace bo": "both",
         "tutti bench all_reduce --algo double-t": "double-tree", "tutti bench --algo ring,double-t": "ring,double-tree",
         "tutti check-guidelines --format mark": "markdown", "tutti completion fi": "fish",
         "tutti compare a b -- bench --numer": "--numerics"}
WITH_TUTTI = tutti.CLEAN | {"PATH": f"{Path(tutti.EXECUTABLE).parent}:{os.environ['PATH']}"}


def needs(shell):
    return unittest.skipUnless(shutil.which(shell), f"no {shell}; use: apt-get install {shell}")


def offered(*words):
    done = tutti.run(*words, "--complete-this", timeout=10)
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


def options_in(text):
    """Returns the long options at the begin of lines; descriptions may name others."""
    names = re.findall(r"^  (-\S+)", text, re.MULTILINE)
    return {name for group in names for name in group.split(",") if name.startswith("--")}


class Command(unittest.TestCase):
    def test_offers_every_option_that_its_help_names(self):
        commands = [[command] for command in offered("") if command not in ("results", "workload")]
        self.assertIn(["compare"], commands)
        for command in [*commands, ["workload", "ddp"], ["results", "query"]]:
            with self.subTest(command):
                self.assertEqual(set(offered(*command, "--")), options_in(tutti.run(*command, "--help").stdout))

    def test_offers_algorithms_of_the_collective_that_is_typed(self):
        self.assertIn("bruck", offered("bench", "all_to_all", "--algo", "b"))
        self.assertNotIn("bruck", offered("bench", "broadcast", "--algo", "b"))

    def test_offers_what_stands_behind_an_equals_sign(self):
        self.assertEqual(offered("bench", "--order=g"), ["--order=given"])
        self.assertEqual(offered("bench", "--order", "=", "g"), ["given"], "as bash cuts it")

    def test_offers_no_names_where_a_file_is_meant(self):
        self.assertEqual(offered("compare", "--baseline", ""), [])

    def test_runs_nothing(self):
        for words in (["bench", "all_reduce"], ["compare", "--"], ["compare", "--", "bench"], ["compare", "--resume", "x", "--"],
                      ["bench", "--resume", "x"], ["limits"], ["topo"], ["verify"], ["workload", "ddp"], ["nothing"], ["--"]):
            with self.subTest(words):
                done = tutti.run(*words, "--complete-this", timeout=10)
                for line in done.stdout.splitlines():  # nothing but words
                    self.assertRegex(line, r"^\S+(\t|$)")


class Bash(unittest.TestCase):
    @needs("bash")
    def test_completes(self):
        script = ('source <(tutti completion bash); COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
                  'complete -p tutti | grep -q _tutti && _tutti tutti; printf "%s\\n" "${COMPREPLY[@]}"')
        for typed, becomes in TYPED.items():
            done = subprocess.run(["bash", "-c", script, "bash", typed], env=WITH_TUTTI, capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.splitlines(), [becomes], typed + done.stderr)


class Fish(unittest.TestCase):
    @needs("fish")
    def test_completes(self):
        for typed, becomes in TYPED.items():
            done = subprocess.run(["fish", "-c", f"tutti completion fish | source; complete --do-complete '{typed}'"],
                                  env=WITH_TUTTI, capture_output=True, text=True, check=True)
            self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()], [becomes], typed + done.stderr)


class Zsh(tutti.Folder):
    """It completes only for a terminal."""

    def setUp(self):
        super().setUp()
        self.terminal, there = pty.openpty()
        self.shell = subprocess.Popen(["zsh", "-fi"], stdin=there, stdout=there, stderr=there, start_new_session=True,
                                      env=WITH_TUTTI | {"TERM": "dumb"}, cwd=self.folder)
        os.close(there)
        self.addCleanup(self.end)

    def end(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.terminal)

    def type(self, text, until):
        """Returns the screen once `until` is on it."""
        os.write(self.terminal, text.encode())
        screen, end = "", time.monotonic() + 20
        while until not in screen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                screen += os.read(self.terminal, 4096).decode(errors="replace")
        self.assertIn(until, screen)
        return screen

    @needs("zsh")
    def test_completes(self):
        self.type("autoload -U compinit; compinit -u -d ./dump; source <(tutti completion zsh); dump() { print -r -- \"<$BUFFER>\" }; "
                  "zle -N dump; bindkey '^X' dump; print rea''dy\n", "ready")
        for typed, becomes in TYPED.items():
            screen = self.type(f"{typed}\t\x18", ">")
            self.assertIn(f"<{typed.rsplit(' ', 1)[0]} {becomes} >", screen)
            self.type("\x15\x18", "<>")


if __name__ == "__main__":
    unittest.main()
