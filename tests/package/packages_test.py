# SPDX-License-Identifier: Apache-2.0
"""The Debian packages are well-formed, and on a clean Debian they install, work, and go without leaving anything."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402  (found through the line above)

# This build is packed if it has no GPU code, whose libraries Debian lacks. Otherwise scripts/package builds another.
BUILD = Path(os.environ["TUTTI_PACKED"])
TOOLS = [(name, shutil.which(name)) for name in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "gzip")]

# In the clean root: what a user does, once.
TRY = r"""set -eux
tutti --version
tutti list
tutti bench all_reduce --ranks 2 -e 64 -n 1 -w 0 --json /tmp/run.jsonl | grep 'Out of bounds values : 0 OK'
tutti results import /tmp/run.jsonl --db /tmp/results.sqlite
python3 -c 'import tutti; print(len(list(tutti.records(["/tmp/run.jsonl"]))))'
python3 -c 'import numpy, tutti; tutti.Communicator.self().all_reduce(numpy.ones(3))'
man tutti-bench | grep -- --target-ci
bash -c 'source /usr/share/bash-completion/completions/tutti; complete -p tutti'
mkdir /tmp/program
cd /tmp/program
cp /tmp/packages/program.cpp .
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(program CXX)
find_package(tutti 0.1 REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program tutti::tutti)
END
cmake -B build >/dev/null
cmake --build build
build/program | grep '4 of 4 ranks right'
g++ -std=c++20 program.cpp -o program $(pkg-config --cflags --libs tutti)
./program
printf '#include <tutti/tutti.h>\nint main(void) { return tutti_abi_version() - TUTTI_C_ABI_VERSION; }\n' >abi.c
gcc abi.c -o abi $(pkg-config --cflags --libs tutti_c)
./abi
LD_PRELOAD=libtutti_heap.so.0 ls >/dev/null
tutti run --heap -- true
rm -r /tmp/program /tmp/run.jsonl /tmp/results.sqlite
"""


def needs_root():
    if os.geteuid() != 0:
        return "only root can make a clean Debian; use: sudo ctest -R packages"
    if not shutil.which("debootstrap"):
        return "no debootstrap; use: apt-get install debootstrap"
    return None


@unittest.skipUnless(all(path for _, path in TOOLS), "missing: " + " ".join(name for name, path in TOOLS if not path))
@unittest.skipUnless((BUILD / "CPackConfig.cmake").exists(),
                     "this build has code for GPUs, whose libraries Debian has not; for one without type: scripts/package")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        if BUILD != Path(tutti.EXECUTABLE).parent:  # it may be older than the sources
            subprocess.run([os.environ["TUTTI_CMAKE"], "--build", BUILD], check=True, capture_output=True)
        packed = subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder], capture_output=True, text=True,
                                check=False)
        assert packed.returncode == 0, packed.stdout + packed.stderr
        cls.packages = {file.name.split("_")[0]: file for file in cls.folder.glob("*.deb")}

    def field(self, package, name):
        return subprocess.run(["dpkg-deb", "--field", self.packages[package], name], check=True, capture_output=True,
                              text=True).stdout.strip()

    def test_are_four_that_name_what_they_need(self):
        self.assertEqual(set(self.packages), {"tutti", "libtutti0", "libtutti-dev", "python3-tutti"})
        for name in ("tutti", "libtutti0"):
            self.assertRegex(self.field(name, "Depends"), r"libc6 \(>= .*libfmt9.*libstdc\+\+6")
        version = self.field("tutti", "Version")
        self.assertIn(f"libtutti0 (= {version})", self.field("libtutti-dev", "Depends"))
        for needed in ("python3-tutti", "libtutti0"):  # the second for `tutti run` and buffers that are mapped
            self.assertIn(f"{needed} (= {version})", self.field("tutti", "Depends"))
        self.assertEqual(self.field("python3-tutti", "Architecture"), "all")

    def test_are_as_debian_wants_them(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian; use: apt-get install lintian")
        ldconfig = "maintscript-calls-ldconfig"  # CPack calls it in addition to our trigger
        found = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ldconfig,
                                *self.packages.values()], capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_work_on_a_clean_debian_and_leave_nothing(self):
        if reason := needs_root():
            self.skipTest(reason)
        root = self.folder / "root"
        made = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"debootstrap made no Debian: {made.stdout.splitlines()[-1:]} {made.stderr.splitlines()[-1:]}")
        shutil.copytree(self.folder, root / "tmp/packages", ignore=lambda _, names: [n for n in names if not n.endswith(".deb")])
        shutil.copy(tutti.ROOT / "docs/examples/ranks_as_threads.cpp", root / "tmp/packages/program.cpp")
        apt = "DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet"
        self.inside(root, f"{apt} update && {apt} --no-install-recommends install /tmp/packages/*.deb man-db g++ cmake make pkg-config")
        self.inside(root, TRY)
        names = " ".join(self.packages)
        self.inside(root, f"{apt} purge {names} && {apt} --purge autoremove && rm -r /tmp/packages")
        self.assertEqual(self.inside(root, "find / -xdev -name '*tutti*' -not -path '/proc/*' -not -path '/var/cache/man/*'"), "")

    def inside(self, root, script):
        """Its output; in a mount namespace of its own, so that nothing stays mounted."""
        done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc"; mount -t tmpfs none "$0/dev/shm"; '
                               'exec chroot "$0" /bin/bash -c "$1"', root, script], capture_output=True, text=True, check=False,
                              env={name: value for name, value in tutti.CLEAN.items() if name != "TUTTI"} |
                              {"LC_ALL": "C.UTF-8", "HOME": "/root"})
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])
        return done.stdout


if __name__ == "__main__":
    unittest.main()
