# SPDX-License-Identifier: Apache-2.0
"""The transport ucx between processes: every algorithm is right, UCX_TLS is respected, and ranks that it cannot join are reported."""
import re
import unittest

import tutti
from tutti import COLLECTIVES, QUICK

OVER_UCX = ("--transport", "ucx", "--baseline", "none")


@tutti.needs_ucx
class Processes(tutti.Folder):
    def bench(self, ranks, collective, *words, **environment):
        return tutti.run_ranks(ranks, "bench", collective, *OVER_UCX, *words, *QUICK, timeout=100, **environment)

    def check(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(tutti.ALL_RIGHT, done.stdout)
        self.assertNotIn("UCX  ", done.stdout)  # no warning of the library

    def found(self, done):
        self.check(done)
        return re.search(r"^# .*ucx: UCX (\S+); rank 0 to (.*)$", done.stdout, re.MULTILINE)

    def test_of_two_to_five_agree_with_every_algorithm(self):
        for ranks in (2, 3, 4, 5):
            counts = ",".join(map(str, sorted({0, 1, ranks - 1, ranks, 1001, 40_000})))
            for collective in COLLECTIVES:
                with self.subTest(collective=collective, ranks=ranks):
                    done = self.bench(ranks, collective, "--counts", counts, "-r", ranks - 1, "--all-rows")
                    self.check(done)
                    algorithms = {line.split()[-5] for line in done.stdout.splitlines() if line.startswith(" ")}
                    self.assertGreaterEqual(len(algorithms), 3, done.stdout)

    def test_agree_on_every_type_and_operation(self):
        self.check(self.bench(3, "all_reduce", "-d", "all", "-o", "all", "--counts", 131))

    def test_agree_in_memory_of_either_kind(self):
        self.check(self.bench(3, "all_gather", "--buffers", "registered,unregistered", "--counts", "100,100000"))

    def test_of_one_host_share_memory_and_the_record_says_so(self):
        file = self.folder / "r.jsonl"
        version, transports = self.found(self.bench(2, "all_reduce", "--counts", 1, "--algo", "ring", "--json", file)).groups()
        self.assertRegex(transports, r"^1 by (posix|sysv)/memory")
        launch, = (record for record in tutti.records(file) if record["kind"] == "launch")
        self.assertEqual(launch["ucx"], {"vendor": "UCX", "version": version,
                                         "settings": {"found": f"UCX {version}; rank 0 to {transports}"}})

    def test_take_what_the_user_lets_them_take(self):
        for chosen, expected in (("tcp", r"^1 by tcp/\S+( tcp/\S+)*$"), ("posix,cma", r"^1 by posix/memory( cma/memory)?$")):
            with self.subTest(chosen):
                done = self.bench(2, "all_reduce", "--counts", "1,100000", "--algo", "ring", UCX_TLS=chosen)
                self.assertRegex(self.found(done).group(2), expected)

    def test_that_it_cannot_join_are_reported_in_one_line(self):
        done = self.bench(2, "all_reduce", "--counts", 1, "--algo", "ring", UCX_TLS="self")
        self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"rank [01] to rank [01] .*UCX_TLS")


if __name__ == "__main__":
    unittest.main()
