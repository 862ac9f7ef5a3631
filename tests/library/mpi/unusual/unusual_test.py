# SPDX-License-Identifier: Apache-2.0
"""MPI programs that do legal but unusual things print the same and end with the same code without tutti and with it."""
import os
import re
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from preload_test import EVERYTHING, LONG, built, run, tutti  # noqa: E402

QUICK_MODES = {"default": ("--with", "learn"), "always, heap": (*EVERYTHING, "--heap")}
QUICK_RANKS = 3
OTHER_MODES = {"off": ("--with", "off"), "rules": ("--with", "rules"), "always": EVERYTHING}
SECONDS = 60  # for one scenario
SECONDS_TOGETHER = 900
AT_ONCE = 3  # jobs
NOT_POSSIBLE = 77  # exit code of scenarios that the MPI library does not support


def launches_mpich():
    launcher = os.environ.get("TUTTI_MPIRUN", "mpirun")
    return "HYDRA" in subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout


def most_ranks():
    """Waiting ranks of MPICH never yield their core. With fewer cores than ranks, calls take milliseconds."""
    return max(2, len(os.sched_getaffinity(0))) if launches_mpich() else 4


def runs(is_alone):
    """(ranks, modes) of the runs of scenarios. The quick test runs those that share a process, with one number of ranks. The long
    test adds each mode on one number of ranks, and the default mode on each."""
    quick = min(QUICK_RANKS, most_ranks())
    if not LONG:
        return [] if is_alone else [(quick, QUICK_MODES)]
    every = OTHER_MODES | QUICK_MODES
    numbers = range(2, most_ranks() + 1)
    chosen = [(ranks, {mode: options for i, (mode, options) in enumerate(every.items())
                       if i % len(numbers) == ranks % len(numbers) or mode == "default"}) for ranks in numbers]
    if is_alone:
        return chosen
    return [(ranks, {mode: options for mode, options in modes.items() if ranks != quick or mode not in QUICK_MODES})
            for ranks, modes in chosen]


def with_layer(where):
    """Returns a command prefix that preloads the profiling layer before tutti or after it."""
    layer = built("libunusual_layer.so")
    preload = f"{layer}:$LD_PRELOAD" if where == "before" else f"$LD_PRELOAD:{layer}"
    return "sh", "-c", f'LD_PRELOAD="{preload}" exec "$@"', "sh"


def outcome(ranks, words, options, timeout):
    """The code, stdout and stderr of a run; the code of a hang is 'timeout'."""
    try:
        return run(ranks, *words, options=options, timeout=timeout)
    except subprocess.TimeoutExpired as hang:
        return ("timeout", *((text or b"").decode(errors="replace") for text in (hang.stdout, hang.stderr)))


def described(code, out, err):
    """Describes a run: the program's output, and the lines of stderr that tell why it ended."""
    why = [line for line in err.splitlines() if re.search(r"^tutti: |signal|Signal|terminate|rror", line)]
    return f"code {code}\n{out}" + "\n".join(why[:4])


class Program:
    """A program of scenarios; `words` is a command prefix."""

    def __init__(self, name, words=()):
        self.words = (*words, built(f"unusual_{name}"))
        listed = subprocess.run([self.words[-1]], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"^(\w+)( \(alone\))?: ", listed, re.MULTILINE)
        self.alone = [name for name, alone in names if alone]
        self.together = [name for name, alone in names if not alone]

    def run(self, ranks, options, scenarios):
        seconds = SECONDS if len(scenarios) == 1 else SECONDS_TOGETHER
        return outcome(ranks, (*self.words, *scenarios), options, seconds)


@tutti.needs_mpi
class Unusual(unittest.TestCase):
    maxDiff = None

    def check(self, name, words=()):
        program = Program(name, words)
        groups = [[name] for name in program.alone] + ([program.together] if program.together else [])
        cases = [(scenarios, ranks, modes) for scenarios in groups for ranks, modes in runs(scenarios != program.together)]
        # A scenario that needs a process takes a second, in which it mostly waits for the launcher.
        at_once = AT_ONCE if program.alone and not launches_mpich() else 1
        with ThreadPoolExecutor(at_once) as pool:
            for (_, ranks, _), faults in zip(cases, pool.map(lambda case: list(self.compare(program, *case)), cases)):
                for mode, name, fault in faults:
                    with self.subTest(name, mode=mode, ranks=ranks):
                        self.fail(fault)

    def compare(self, program, scenarios, ranks, modes):
        """Yields (mode, scenario, fault) for each run that is wrong without tutti or differs with it."""
        all_right = (0, "".join(f"{name} OK\n" for name in scenarios), "")
        is_together = scenarios == program.together
        # One run of scenarios that share a process shows that they are right without tutti: each says itself what is wrong.
        expected = program.run(ranks, None, scenarios) if not is_together or (LONG and ranks == most_ranks()) else all_right
        if expected[0] == NOT_POSSIBLE:
            print(f"{scenarios[0]} is not possible with this MPI library")
            return
        if expected[0] == "timeout" or "WRONG" in expected[1] or (is_together and expected[:2] != all_right[:2]):
            yield "without tutti", scenarios[0], described(*expected)
        for mode, options in modes.items():
            for name, fault in self.faults(program, ranks, options, scenarios, expected).items():
                yield mode, name, fault

    def faults(self, program, ranks, options, scenarios, expected):
        """Returns what differs with tutti, by scenario. If a run of several scenarios differs, runs each alone."""
        code, out, err = program.run(ranks, options, scenarios)
        if (code, out, tutti.said(err)) == (*expected[:2], []):
            return {}
        if len(scenarios) == 1:
            return {scenarios[0]: described(code, out, err)}
        alone = {}
        for name in scenarios:
            alone |= self.faults(program, ranks, options, [name], (0, f"{name} OK\n"))
        return alone or {"together": described(code, out, err)}

    def test_calls(self):
        self.check("calls")

    def test_errors(self):
        self.check("errors")

    def test_signals(self):
        self.check("signals")

    def test_threads(self):
        self.check("threads")

    def test_endings(self):
        self.check("endings")

    def test_plugins(self):
        self.check("plugins")

    def test_profiling_in_the_program(self):
        self.check("profiling_inside")

    def test_profiling_by_a_linked_library(self):
        self.check("profiling_linked")

    def test_profiling_preloaded_before_tutti(self):
        self.check("profiling", with_layer("before"))

    def test_profiling_preloaded_after_tutti(self):
        self.check("profiling", with_layer("after"))


if __name__ == "__main__":
    unittest.main()
