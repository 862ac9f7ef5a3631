# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries of this machine: a build tree of tutti for each, and how its ranks are started."""

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SETUP = {"openmpi": "scripts/setup", "mpich": "scripts/setup --mpich"}
TIMED_OUT = 124  # as timeout(1) has it


class CannotCompare(Exception):
    """What was asked cannot be done; the text is one line that says what to type."""


@dataclass(frozen=True)
class Library:
    """An MPI library, and the tutti that is linked with it."""

    name: str
    tutti: Path
    launcher: str

    def measures_limits(self):
        known = subprocess.run([self.tutti, "bench", "--help"], capture_output=True, text=True, check=False)
        return "--limits" in known.stdout

    def run(self, launch, words, folder, seconds):
        """The exit code of one launch, whose table and messages go to files; TIMED_OUT for one that hangs."""
        command = ["scripts/lib/mpi.sh", str(launch.ranks), near(self.tutti), *words]
        with open(folder / f"{launch.name}.txt", "w", encoding="utf-8") as table, \
                open(folder / f"{launch.name}.log", "w", encoding="utf-8") as log, \
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=table, stderr=log,
                                 env=os.environ | {"TUTTI_MPIRUN": self.launcher}, start_new_session=True) as job:
            try:
                return job.wait(seconds)
            except subprocess.TimeoutExpired:
                return TIMED_OUT
            finally:
                _end(job)


def near(path):
    """As short as it can be typed in the root of the repository."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _end(job):
    """Ends a launch that is still running: by a signal to the launcher first, which passes it to the ranks."""
    for word in (signal.SIGTERM, signal.SIGKILL):
        if job.poll() is not None:
            return
        os.killpg(job.pid, word)
        try:
            job.wait(10)
        except subprocess.TimeoutExpired:
            continue


def built_in(tree):
    """The library of a tree that is built already; TUTTI_MPIRUN names its launcher if that has another name."""
    tutti = Path(tree).resolve() / "tutti"
    if not tutti.exists():
        raise CannotCompare(f"no {tutti}; type: cmake --build {tree}")
    name = _linked_with(tutti)
    if not name:
        raise CannotCompare(f"{tutti} is built without MPI, so there is no library to compare with; "
                            "type: scripts/setup && scripts/build release --fresh -DTUTTI_MPI=ON")
    own = f"mpirun.{name}"
    return Library(name, tutti, os.environ.get("TUTTI_MPIRUN") or (own if shutil.which(own) else "mpirun"))


def build(name=None):
    """Builds tutti with the library of that name, in a tree of its own; else with the one of build/."""
    if name is None or _is_that_of_build(name):
        _call("scripts/build")
        return built_in(ROOT / "build")
    tree = ROOT / f"build-{name}"
    _call("cmake", "--preset", "release", "-B", tree, f"-DMPI_C_COMPILER=mpicc.{name}")
    _call("cmake", "--build", tree, "--target", "tutti", "--parallel", str(os.cpu_count()), "--", "--quiet")
    return Library(name, tree / "tutti", f"mpirun.{name}")


def require(name):
    """Throws unless the library can be built with and started."""
    for program in (f"mpicc.{name}", f"mpirun.{name}"):
        if not _is_that_of_build(name) and not shutil.which(program):
            raise CannotCompare(f"no {program} here; type: {SETUP[name]}")


def _is_that_of_build(name):
    return _linked_with(ROOT / "build/tutti") == name


def _linked_with(tutti):
    """openmpi, mpich, or None without a program or without MPI."""
    if not tutti.exists():
        return None
    linked = subprocess.run(["ldd", tutti], capture_output=True, text=True, check=False).stdout
    return "mpich" if "libmpich" in linked else "openmpi" if "libmpi." in linked else None


def _call(*command):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise CannotCompare(f"{done.stdout}{' '.join(map(str, command))} failed; see above")
