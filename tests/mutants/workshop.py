# SPDX-License-Identifier: Apache-2.0
"""Builds and tries mutants."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from pattern import planted

# Mutants are built with the least optimisation that the tests allow, without assertions (like releases)
# and without GPU code.
SETTINGS = ("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DTUTTI_CUDA=OFF",
            "-DTUTTI_BENCHMARKS=OFF", "-DTUTTI_PRECOMPILED_HEADERS=OFF")
BUILD_SECONDS = 900
SKIPPED = "skipped"


def copy_of_tree(root, tree):
    """Copies tracked and new files. Files that have not changed since the last copy keep their time."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, check=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (root / name).is_file()}
    for name in wanted:
        source, target = root / name, tree / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)  # the time of copying, so that it is built again
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        if str(path.relative_to(tree)) not in wanted:
            path.unlink()
    return tree


def run_within(command, seconds, **options):
    """Exit code and output of a command, or None after the timeout. Its children end with it."""
    with tempfile.TemporaryFile("w+", errors="replace") as said:  # a grandchild would keep a pipe open
        with subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              start_new_session=True, **options) as process:
            try:
                code = process.wait(seconds)
            except BaseException as why:  # a timeout or a signal
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if not isinstance(why, subprocess.TimeoutExpired):
                    raise
                code = None
        said.seek(0)
        return code, said.read()


def filtered(command, wanted):
    """The command for the tests of a filter: GoogleTest takes it from the environment, unittest as arguments."""
    if wanted == "*" or "python" not in Path(command[0]).name:
        return command
    return [*command, "--failfast", *(word for one in wanted.split(":") for word in ("-k", one))]


class Workshop:
    def __init__(self, tree, build, jobs):
        self.tree, self.build, self.jobs = tree, build.resolve(), jobs
        self.skipping = set()  # tests that cannot run here, for lack of torch for example

    def prepare(self, mutants):
        """Builds the targets of all tests, and checks that they pass without a bug."""
        if not (self.build / "build.ninja").exists():
            print("configuring", flush=True)
            self._must(["cmake", "-G", "Ninja", "-S", str(self.tree), "-B", str(self.build), *SETTINGS])
        print("building without bugs", flush=True)
        self._must(["ninja", "-C", str(self.build), f"-j{self.jobs}", *sorted({t for m in mutants for t in m.targets})])
        # In one run, except for filters that exclude tests.
        groups = {}
        for mutant in mutants:
            alone = mutant.filter if "-" in mutant.filter else ""
            groups.setdefault((mutant.tests, alone, mutant.timeout), set()).add(mutant.filter)
        for (tests, _, timeout), filters in groups.items():
            failed = self._failed_test(tests, "*" if "*" in filters else ":".join(sorted(filters)), 5 * timeout)
            if failed == SKIPPED:
                self.skipping.add(tests)
            elif failed:
                sys.exit(f"run_mutants: {failed} fails without any bug")

    def outcome_of(self, mutant):
        if mutant.tests in self.skipping:
            return f"{SKIPPED} by {mutant.tests}"
        with self._planted(mutant):
            code, text = self._build(mutant.targets)
            if code != 0:
                return "does not compile: " + next((line for line in text.splitlines() if "error:" in line), "no time left")
            failed = self._failed_test(mutant.tests, mutant.filter, mutant.timeout)
        return f"killed by {failed}" if failed else "survived"

    def _build(self, targets):
        return run_within(["ninja", "-C", str(self.build), f"-j{self.jobs}", *targets], BUILD_SECONDS)

    @contextlib.contextmanager
    def _planted(self, mutant):
        place = mutant.place(self.tree)
        path, sound = place.path, place.path.read_text(encoding="utf-8")
        try:
            path.write_text(planted(place, mutant.new), encoding="utf-8")
            yield
        finally:
            path.write_text(sound, encoding="utf-8")

    def _failed_test(self, tests, wanted_tests, seconds):
        """The first test that fails; SKIPPED if none can run here; None if all pass."""
        found, skipped = self._tests(tests), 0
        if not found:
            sys.exit(f"run_mutants: no test is called {tests}")
        for test in found:
            properties = {p["name"]: p["value"] for p in test.get("properties", [])}
            of_test = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
            environment = os.environ | of_test | {"GTEST_FILTER": wanted_tests, "GTEST_BRIEF": "1"}
            code, text = run_within(filtered(test["command"], wanted_tests), seconds, env=environment,
                                    cwd=properties.get("WORKING_DIRECTORY", self.build))
            if code is None:
                return f"{test['name']}, which hangs"
            if code == properties.get("SKIP_RETURN_CODE", -1):
                skipped += 1
                continue
            wanted = properties.get("PASS_REGULAR_EXPRESSION")
            if (code != 0) if wanted is None else not any(re.search(one, text) for one in wanted):
                named = re.search(r"^\[  FAILED  \] ([^\s,]+)|^(?:FAIL|ERROR): (\S+)", text, re.MULTILINE)
                return f"{test['name']} ({named[1] or named[2]})" if named else test["name"]
        return SKIPPED if skipped == len(found) else None

    def _tests(self, pattern):
        shown = subprocess.run(["ctest", "--show-only=json-v1", "-R", pattern], cwd=self.build, capture_output=True,
                               text=True, check=True).stdout
        return [test for test in json.loads(shown)["tests"] if "command" in test]

    def _must(self, command):
        code, text = run_within(command, 6 * BUILD_SECONDS)
        if code != 0:
            sys.exit(f"run_mutants: '{' '.join(command[:3])} ...' failed:\n{text[-3000:]}")
