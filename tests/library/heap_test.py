# SPDX-License-Identifier: Apache-2.0
"""Preloads the heap into unmodified programs: settings, system limits, forks and killed processes."""
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEAP = os.environ["HEAP"]
PROBE = os.environ["PROBE"]
OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory").read_text().strip()
K, M, G = 1 << 10, 1 << 20, 1 << 30


def environment(**settings):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("TUTTI_HEAP")}, "LD_PRELOAD": HEAP, **settings}


def run(*command, limits=(), **settings):
    def limit():
        for what, most in limits:
            resource.setrlimit(what, (most, most))
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=200,
                          env=environment(**settings), preexec_fn=limit if limits else None)


class HeapOfPrograms(unittest.TestCase):
    # The C++ library allocates some 70 KiB itself. The block sizes leave room for that.
    def assert_prints(self, done, text, errors=""):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, text, errors))

    def assert_filled(self, done, *numbers):
        """`fill` prints the allocations in the arena and elsewhere, and an error."""
        self.assertEqual((done.returncode, [int(number) for number in re.findall(r"\d+", done.stdout)]), (0, list(numbers)), done.stderr)

    def assert_place(self, number, place, **settings):
        self.assert_prints(run(PROBE, "place", number, **settings), place + "\n")

    def test_begins_at_the_threshold(self):
        self.assert_place(64 * K, "in the arena")
        self.assert_place(64 * K - 1, "elsewhere")
        self.assert_place(M, "in the arena", TUTTI_HEAP_THRESHOLD="1M")
        self.assert_place(M - 1, "elsewhere", TUTTI_HEAP_THRESHOLD="1M")

    def test_the_environment_turns_it_off(self):
        for word in ("off", "0"):
            self.assert_place(G, "elsewhere", TUTTI_HEAP_THRESHOLD=word)

    def test_an_invalid_setting_is_reported_once_and_ignored(self):
        done = run(PROBE, "place", 64 * K, TUTTI_HEAP_THRESHOLD="lots")
        self.assertEqual((done.returncode, done.stdout), (0, "in the arena\n"))
        self.assertRegex(done.stderr, r"\Atutti_heap: TUTTI_HEAP_THRESHOLD .*lots\n\Z")

    def test_the_next_allocator_serves_small_allocations(self):
        done = run(PROBE, "fill", 70 * K, 50, LD_PRELOAD=f"{HEAP} {os.environ['COUNTING']}")
        self.assert_filled(done, 50, 0, 0)
        calls, largest = map(int, re.fullmatch(r"(\d+) calls, at most (\d+) bytes\n", done.stderr).groups())
        self.assertGreater(calls, 0)
        self.assertLess(largest, 64 * K)
        done = run(PROBE, "place", 64 * K - 1, LD_PRELOAD=f"{HEAP} {os.environ['COUNTING']}")
        self.assertRegex(done.stderr, f"at most {64 * K - 1} bytes")

    def test_looking_up_the_next_allocator_may_allocate(self):
        self.assert_place(64 * K, "in the arena", LD_PRELOAD=f"{HEAP} {os.environ['DLSYM']}")

    def test_the_next_allocator_takes_over_at_the_limit_of_addresses(self):
        done = run(PROBE, "fill", 7 * M, limits=[(resource.RLIMIT_AS, G)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ours, others, error = map(int, re.findall(r"\d+", done.stdout))
        self.assertEqual(error, 12)  # ENOMEM
        self.assertEqual(ours, 512 // 7)
        self.assertGreater(others, 400 // 7)
        self.assertLess(ours + others, 1024 // 7)

    def test_new_throws_when_memory_is_exhausted(self):
        self.assert_prints(run(PROBE, "new", 8 * M, limits=[(resource.RLIMIT_AS, G)]), "bad_alloc\n")

    def test_a_limited_file_size_raises_no_signal(self):
        done = run(PROBE, "fill", 7 * M, 20, limits=[(resource.RLIMIT_FSIZE, 100 * M)])
        self.assert_filled(done, 9, 11, 0)

    def test_works_with_few_file_descriptors(self):
        self.assert_filled(run(PROBE, "fill", 8 * M, 3, limits=[(resource.RLIMIT_NOFILE, 10)]), 3, 0, 0)

    def test_a_program_may_close_all_its_files(self):
        self.assert_filled(run(PROBE, "close-files", 30 * M), 2, 8, 0)

    def test_reserve_limits_the_arena(self):
        self.assert_filled(run(PROBE, "fill", 7 * M, 20, TUTTI_HEAP_RESERVE="64M"), 9, 11, 0)

    @unittest.skipUnless(OVERCOMMIT == "1", "the arena is limited by the memory size")
    def test_the_arena_has_fewer_than_2_to_32_pages(self):
        page = resource.getpagesize()
        done = run(PROBE, "most", M, TUTTI_HEAP_RESERVE=f"{2**33 * page // G}G")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(int(done.stdout) // page, range(1, 2**32))

    @unittest.skipUnless(OVERCOMMIT == "0", "needs overcommit mode 0")
    def test_more_than_the_memory_size_is_refused(self):
        sizes = re.findall(r"(?:MemTotal|SwapTotal): +(\d+) kB", Path("/proc/meminfo").read_text())
        self.assertEqual(len(sizes), 2)
        more = sum(map(int, sizes)) * K + 64 * M  # more than the next allocator has, too
        self.assert_filled(run(PROBE, "fill", more, 1), 0, 0, 12)

    def test_a_forked_child_gets_a_copy_or_can_only_exec(self):
        self.assert_prints(run(PROBE, "fork", M), "0 0\n")
        self.assert_prints(run(PROBE, "fork", M, TUTTI_HEAP_FORK="exec"),
                           f"{int(signal.SIGSEGV)} 0\n")

    def test_a_thread_with_its_stack_in_the_heap_cannot_fork(self):
        self.assert_prints(run(PROBE, "fork-on-stack", M, TUTTI_HEAP_THRESHOLD="2M"), "forked\n")
        done = run(PROBE, "fork-on-stack", M)
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""))
        self.assertIn("TUTTI_HEAP_THRESHOLD", done.stderr)

    def test_a_forked_child_may_fork_from_a_stack_in_its_own_heap(self):
        self.assert_prints(run(PROBE, "child-forks-on-stack", M), "forked\n")

    def test_a_killed_process_leaves_no_files(self):
        seen = [sorted(os.listdir(folder)) for folder in ("/dev/shm", "/dev/mqueue") if os.path.isdir(folder)]
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen([PROBE, "wait", str(100 * M)], env=environment(TMPDIR=folder), cwd=folder,
                                     stdout=subprocess.PIPE, text=True)
            with child:
                self.assertEqual(child.stdout.readline(), "ready\n")
                maps = Path(f"/proc/{child.pid}/maps").read_text()
                self.assertIn("/memfd:tutti_heap (deleted)", maps)
                during = [sorted(os.listdir(place)) for place in ("/dev/shm", "/dev/mqueue") if os.path.isdir(place)]
                child.kill()
            self.assertEqual(child.returncode, -signal.SIGKILL)
            self.assertEqual(os.listdir(folder), [])
        if during != seen:
            self.skipTest("another process changed /dev/shm meanwhile")

    def test_python_works_and_forks(self):
        program = ("import os, hashlib, multiprocessing as m, subprocess as s\n"
                   "data = bytearray(os.urandom(1 << 16) * 64)\n"
                   "want = hashlib.sha256(data).hexdigest()\n"
                   "def one(i): return hashlib.sha256(data).hexdigest() == want and len([0] * (100000 * i))\n"
                   "with m.get_context('fork').Pool(3) as pool: got = pool.map(one, range(1, 9))\n"
                   "assert got == [100000 * i for i in range(1, 9)], got\n"
                   "print(s.run(['echo', 'fine'], capture_output=True, text=True).stdout.strip())\n")
        self.assert_prints(run(sys.executable, "-c", program), "fine\n")

    def test_a_shell_works(self):
        script = "exec 3>/dev/null; for i in 1 2 3; do (echo $i) | cat; done; printf '%s\\n' $(seq 4 5); echo fine >&3"
        self.assert_prints(run("bash", "-c", script), "1\n2\n3\n4\n5\n")


if __name__ == "__main__":
    unittest.main()
