# SPDX-License-Identifier: Apache-2.0
"""The MPI libraries of this machine: a build tree of tutti for each, and how its ranks are started."""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SETUP = {"openmpi": "scripts/setup", "mpich": "scripts/setup --mpich"}
TIMED_OUT = 124  # the exit code of timeout(1)


class CannotCompare(Exception):
    """A request that cannot be fulfilled; the text is one line with the cure."""


@dataclass(frozen=True)
class Library:
    """An MPI library, and the tutti that is linked with it, once that is built."""

    name: str  # openmpi, or openmpi-5.0.10 of a prefix
    compiler: str
    launcher: str
    tutti: Path | None = None

    @property
    def vendor(self):
        return self.name.partition("-")[0]

    def run(self, launch, words, folder, seconds):
        """Runs a launch, writes its table and messages to files, and returns its exit code, or TIMED_OUT if it hangs."""
        command = ["scripts/lib/mpi.sh", str(launch.ranks), near(self.tutti), *words]
        with open(folder / f"{launch.name}.txt", "w", encoding="utf-8") as table, \
                open(folder / f"{launch.name}.log", "w", encoding="utf-8") as log, \
                subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=table, stderr=log,
                                 env=os.environ | {"TUTTI_MPIRUN": self.launcher} | launch.setting.environment(),
                                 start_new_session=True) as job:
            try:
                return job.wait(seconds)
            except subprocess.TimeoutExpired:
                return TIMED_OUT
            finally:
                _end(job)


def near(path):
    """Returns the shortest path from the root of the repository."""
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
    """Returns the library of a tree that is already built; TUTTI_MPIRUN selects another launcher."""
    tutti = Path(tree).resolve() / "tutti"
    if not tutti.exists():
        raise CannotCompare(f"no {tutti}; use cmake --build {tree}")
    name = _linked_with(tutti)
    if not name:
        raise CannotCompare(f"{tutti} is built without MPI, so there is no library to compare with; "
                            "use scripts/setup && scripts/build release --fresh -DTUTTI_MPI=ON")
    own = f"mpirun.{name}"
    return Library(name, "", os.environ.get("TUTTI_MPIRUN") or (own if shutil.which(own) else "mpirun"), tutti)


def find(word):
    """Finds a library by its name in Debian or by its installation prefix; throws unless tutti can be built with it."""
    if "/" in word:
        return _in_prefix(Path(word).expanduser().resolve())
    if word not in SETUP:
        raise CannotCompare(f"'{word}' is neither {' nor '.join(SETUP)} nor a prefix such as /opt/openmpi-5.0.10")
    found = Library(word, f"mpicc.{word}", f"mpirun.{word}")
    for program in (found.compiler, found.launcher):
        if not _is_that_of_build(word) and not shutil.which(program):
            raise CannotCompare(f"no {program} here; use {SETUP[word]}")
    return found


def _in_prefix(prefix):
    compiler, launcher = prefix / "bin/mpicc", prefix / "bin/mpirun"
    for program in (compiler, launcher):
        if not os.access(program, os.X_OK):
            raise CannotCompare(f"no {program}; use the prefix of an installed MPI library")
    said = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"(Open MPI|HYDRA)\D*(\d[\w.]*)", said)
    if not version:
        raise CannotCompare(f"{launcher} is neither Open MPI's nor MPICH's; it prints {said[:60]!r}")
    vendor = {"Open MPI": "openmpi", "HYDRA": "mpich"}[version[1]]
    return Library(f"{vendor}-{version[2]}", str(compiler), str(launcher))


def build(found=None):
    """Builds tutti with a library in a separate tree, by default with that of build/."""
    if found is None or _is_that_of_build(found.name):
        _call("scripts/build")
        return built_in(ROOT / "build")
    tree = ROOT / f"build-{found.name}"
    compiler = shutil.which(found.compiler)
    # A fresh tree, as results of another compiler would be kept.
    cache = tree / "CMakeCache.txt"
    fresh = ["--fresh"] if cache.exists() and f"={compiler}\n" not in cache.read_text(encoding="utf-8") else []
    # The transport ucx would bring Debian's UCX, and where a library has its own, only one of the two is loaded.
    _call("cmake", "--preset", "release", "-B", tree, f"-DMPI_C_COMPILER={compiler}", "-DTUTTI_UCX=OFF", *fresh)
    _call("cmake", "--build", tree, "--target", "tutti", "--parallel", str(os.cpu_count()), "--", "--quiet")
    return replace(found, tutti=tree / "tutti")


def _is_that_of_build(name):
    return _linked_with(ROOT / "build/tutti") == name


def _linked_with(tutti):
    """Returns openmpi, mpich, or None without a program or MPI."""
    if not tutti.exists():
        return None
    said = subprocess.run([tutti, "--version"], capture_output=True, text=True, check=False).stdout
    vendor = re.search(r"^MPI (Open MPI|MPICH)", said, re.MULTILINE)
    return vendor[1].lower().replace(" ", "") if vendor else None


def _call(*command):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise CannotCompare(f"{done.stdout}{' '.join(map(str, command))} failed; see above")
