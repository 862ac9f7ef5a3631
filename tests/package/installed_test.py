# SPDX-License-Identifier: Apache-2.0
"""Checks that an installed command, library and manual pages work without the source tree."""
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402  (found through the line above)

BUILD = Path(tutti.EXECUTABLE).parent
CMAKE = os.environ.get("TUTTI_CMAKE", "cmake")
EXAMPLE = tutti.ROOT / "docs/examples/sum_gradients.cpp"
WITHOUT_MPI = tutti.ROOT / "docs/examples/ranks_as_threads.cpp"


def done(*words, folder=None, **environment):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=200, check=False, cwd=folder,
                          stdin=subprocess.DEVNULL, env=tutti.CLEAN | environment)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        first = Path(cls.temporary.name, "first")
        installed = done(CMAKE, "--install", BUILD, "--prefix", first)
        assert installed.returncode == 0, installed.stderr
        cls.prefix = Path(first.rename(first.with_name("moved")))  # nothing may know where it was laid
        cls.command = cls.prefix / "bin/tutti"
        cls.libraries = next(cls.prefix.glob("lib*/**/libtutti.so")).parent

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ok(self, *words, **environment):
        one = done(*words, folder=self.folder, **environment)
        self.assertEqual(one.returncode, 0, one.stdout + one.stderr)
        return one.stdout


class Command(Installed):
    def test_measures_and_reports(self):
        self.assertIn("Out of bounds values : 0 OK",
                      self.ok(self.command, "bench", "all_reduce", "--ranks", 2, "-e", "64", *tutti.QUICK, "--json", "run.jsonl"))
        for words in (["results", "import", "run.jsonl"], ["results", "list"], ["check-guidelines", "--help"]):
            self.ok(self.command, *words)
        if done("/usr/bin/python3", "-c", "import matplotlib").returncode == 0:
            self.ok(self.command, "report", "run.jsonl")

    def test_runs_the_scripts_that_lie_beside_it(self):
        program = self.folder / "python"
        program.write_text("#!/bin/sh\necho $1\n", encoding="utf-8")
        program.chmod(0o755)
        path = Path(self.ok(self.command, "results", "list", TUTTI_PYTHON=str(program)).strip())
        self.assertEqual(path, self.prefix / "share/tutti/scripts/results.py")
        self.ok("/usr/bin/python3", "-B", path, "--help")

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_guards_a_project_in_ci(self):
        project = self.folder / "project"
        project.mkdir()
        git = ("git", "-C", project, "-c", "user.name=t", "-c", "user.email=t@example.org")
        (project / "step").write_text("echo took 100\n", encoding="utf-8")
        for words in (("init", "--quiet"), ("add", "step"), ("commit", "--quiet", "--message", "takes 100")):
            self.ok(*git, *words)
        (project / "step").write_text("echo took 120\n", encoding="utf-8")
        guarded = done(self.command, "ci-guard", "HEAD", "--build", "true", "--program", "sh step", "--metric", "took ([0-9]+)",
                       folder=project)
        self.assertEqual(guarded.returncode, 1, guarded.stdout + guarded.stderr)
        self.assertIn("+20.0 %", guarded.stdout)

    @tutti.needs_mpi
    def test_runs_unmodified_programs_on_the_libraries_beside_it(self):
        one = done(self.command, "run", "--with", "rules", "--heap", "--report", "--", tutti.MPI_RUN, 2, BUILD / "preload_turns")
        self.assertEqual((one.returncode, one.stdout), (0, ""), one.stderr)
        self.assertRegex(one.stderr, r"# all_reduce +8K-16K +2000 +1\d\d\d")

    @tutti.needs_mpi
    def test_finds_the_heap_where_no_development_files_are(self):
        link = self.libraries / "libtutti_heap.so"
        aside = link.rename(link.with_name("aside"))
        try:
            one = done(tutti.MPI_RUN, 2, self.command, "bench", "all_reduce", "--buffers", "mapped", "--baseline", "none", "--algo",
                       "ring", "-b", "64K", "-e", "64K", *tutti.QUICK)
        finally:
            aside.rename(link)
        self.assertIn("Out of bounds values : 0 OK", one.stdout, one.stderr)

    def test_is_called_by_the_names_of_other_suites(self):
        for name in ("all_reduce_perf", "osu_allreduce"):
            self.assertIn(f"usage: {name}", self.ok(self.prefix / "bin" / name, "--help"))

    def test_has_a_page_for_each_command(self):
        pages = {page.name.split(".")[0]: page for page in self.prefix.glob("share/man/man1/*.gz")}
        self.assertLessEqual({"tutti", "tutti-bench", "tutti-workload-ddp", "tutti-results-query", "osu_bcast"}, set(pages))
        self.assertIn(r"\-\-target\-ci", gzip.decompress(pages["tutti-bench"].read_bytes()).decode())
        if not shutil.which("man"):
            self.skipTest("no man; use: apt-get install man-db")
        for name, page in pages.items():
            shown = done("man", "--warnings", "-l", page, LC_ALL="C.UTF-8", MANWIDTH="80")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), name)
            self.assertRegex(shown.stdout, rf"(?s)NAME\n +{name}\s+. .*SYNOPSIS\n.*DESCRIPTION")

    def test_brings_completion(self):
        for file in ("bash-completion/completions/tutti", "zsh/vendor-completions/_tutti", "fish/vendor_completions.d/tutti.fish"):
            self.assertIn("--complete-this", (self.prefix / "share" / file).read_text(encoding="utf-8"))

    def test_brings_the_module(self):
        module = next(self.prefix.glob("lib/python3*/*-packages"))
        self.assertIn("records", self.ok("/usr/bin/python3", "-B", "-c", "import tutti; print(dir(tutti))", PYTHONPATH=str(module)))

    def test_brings_the_backend_of_torch_which_finds_its_library(self):
        if done("/usr/bin/python3", "-c", "import torch.distributed").returncode != 0:
            self.skipTest("no torch; on Debian type: apt-get install python3-torch")
        module = next(self.prefix.glob("lib/python3*/*-packages"))
        found = self.ok("/usr/bin/python3", "-B", "-c", "import tutti_torch, tutti.library; print(tutti.library.LIBRARY._name)",
                        PYTHONPATH=str(module))
        self.assertTrue(Path(found.strip()).is_relative_to(self.prefix), found)

    def test_brings_communicators_of_python_which_find_their_library(self):
        module = next(self.prefix.glob("lib/python3*/*-packages"))
        self.assertTrue((module / "tutti/py.typed").exists())
        found = self.ok("/usr/bin/python3", "-B", "-c", "import tutti; print(tutti.Communicator.self(), tutti.library.LIBRARY._name)",
                        PYTHONPATH=str(module))
        self.assertIn("rank 0 of 1", found)
        self.assertTrue(Path(found.split()[-1]).is_relative_to(self.prefix), found)


class Library(Installed):
    """Programs are built in an empty folder, with nothing of the source tree but their own text."""

    def run_it(self, program, *launcher):
        out = self.ok(*launcher, program)
        self.assertRegex(out, rf"^{launcher[-1] if launcher else 1} ranks .* right\n$"
                         if self.text == EXAMPLE else "^4 of 4 ranks right\n$")

    def run_alone_and_with_others(self, program):
        self.run_it(program)
        if self.text == EXAMPLE:
            self.run_it(program, tutti.MPI_RUN, 2)

    def setUp(self):
        super().setUp()
        self.text = WITHOUT_MPI if tutti.mpi_missing() else EXAMPLE
        shutil.copy(self.text, self.folder / "program.cpp")

    def project(self, version=""):
        mpi = "find_package(MPI REQUIRED COMPONENTS CXX)\ntarget_link_libraries(program MPI::MPI_CXX)\n" if self.text == EXAMPLE else ""
        (self.folder / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject(program CXX)\nfind_package(tutti {version} REQUIRED)\n"
            f"add_executable(program program.cpp)\ntarget_link_libraries(program tutti::tutti)\n{mpi}", encoding="utf-8")
        return done(CMAKE, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", folder=self.folder)

    def test_is_found_by_cmake(self):
        configured = self.project("0.1")
        self.assertEqual(configured.returncode, 0, configured.stderr)
        self.ok(CMAKE, "--build", "build")
        self.run_alone_and_with_others("build/program")

    def test_of_another_version_is_refused_by_cmake(self):
        for version in ("9.0", "0.0"):
            self.assertIn(f'requested version "{version}"', " ".join(self.project(version).stderr.split()))

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config")
    def test_is_found_by_pkg_config(self):
        found = {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        self.ok("pkg-config", "--exists", "tutti >= 0.1", **found)
        flags = self.ok("pkg-config", "--cflags", "--libs", "tutti", **found).split()
        self.ok("mpicxx" if self.text == EXAMPLE else "c++", "-std=c++20", "program.cpp", "-o", "program", *flags)
        self.run_alone_and_with_others("./program")

    def test_serves_programs_in_c(self):
        shutil.copy(tutti.ROOT / "docs/examples/sum_in_c.c", self.folder / "program.c")
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(program C)\nfind_package(tutti REQUIRED)\n"
            "add_executable(program program.c)\ntarget_link_libraries(program tutti::tutti_c)\n", encoding="utf-8")
        self.ok(CMAKE, "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.ok(CMAKE, "--build", "build")
        programs = ["build/program"]
        if shutil.which("pkg-config"):
            flags = self.ok("pkg-config", "--cflags", "--libs", "tutti_c", PKG_CONFIG_PATH=str(self.libraries / "pkgconfig")).split()
            self.ok("cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "program.c", "-o", "program", *flags)
            programs.append("./program")
        for program in programs:
            out = self.ok(program, "tcp://localhost:1", 0, 1)
            self.assertEqual(out, "rank 0 of 1: right\n")

    def test_has_headers_that_compile_alone(self):
        headers = sorted((self.prefix / "include/tutti").glob("*.h*"))
        self.assertIn("communicator.hpp", [header.name for header in headers])
        for header in headers:
            (self.folder / "alone.cpp").write_text(f"#include <tutti/{header.name}>\n", encoding="utf-8")
            self.ok("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include", "alone.cpp")

    def test_says_below_cpp20_what_it_needs(self):
        for header in sorted((self.prefix / "include/tutti").glob("*.hpp")):
            (self.folder / "old.cpp").write_text(f"#include <tutti/{header.name}>\n", encoding="utf-8")
            refused = done("c++", "-std=c++17", "-fsyntax-only", f"-I{self.prefix}/include", "old.cpp", folder=self.folder)
            self.assertNotEqual(refused.returncode, 0)
            errors = [line for line in refused.stderr.splitlines() if "error: " in line]
            self.assertEqual(["c++20" in error for error in errors], [True, True], refused.stderr)

    def test_has_a_versioned_name(self):
        for name in ("libtutti", "libtutti_c", "libtutti_heap"):
            library = self.libraries / f"{name}.so"
            self.assertRegex(self.ok("readelf", "-d", library), rf"soname: \[{name}\.so\.\d+\]")


if __name__ == "__main__":
    unittest.main()
