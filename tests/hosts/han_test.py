# SPDX-License-Identifier: Apache-2.0
"""Open MPI's HAN, the component for several hosts: forced as a baseline, and ruled by an exported table."""
import json
import re
import unittest

import testhosts
import tutti
from export_test import mpi, section

VERSION = re.search(r"MPI Open MPI (\d+)", tutti.run("--version").stdout)
LAUNCHER = f"{testhosts.TESTHOSTS} --"
ALGORITHMS = ("han-simple", "tuned", "han-intra")


@unittest.skipUnless(VERSION and int(VERSION.group(1)) >= 5, "this build is not for Open MPI 5 or later")
class Han(tutti.Folder):
    def table(self, *algorithms):
        sections = [dict(section(collective, 4, {size: mpi(algorithm) for size, algorithm in zip((0, 512, 4096), algorithms)}))
                    for collective in ("all_reduce", "broadcast", "all_gather", "gather")]
        for each in sections:
            each["setting"]["ranks_per_host"] = 2
        return self.file("t.json", json.dumps({"format": "tutti-table", "version": 1, "sections": sections}))

    def check(self, *algorithms, **environment):
        return tutti.run("export", self.table(*algorithms), "--to", "han", "--check", "--launcher", LAUNCHER,
                         timeout=200, **environment)

    def test_obeys_the_rules_of_a_table(self):
        done = self.check(*ALGORITHMS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("obeyed it"), 4 * len(ALGORITHMS), done.stdout)
        untouched, touched = map(int, re.findall(r"(\d+)", done.stdout.splitlines()[-1])[:2])
        self.assertEqual((untouched > 0, touched), (True, 0), done.stdout)

    def test_that_is_switched_off_obeys_none(self):
        done = tutti.run("export", self.table(*ALGORITHMS), "--to", "han", "--check", "--launcher",
                         f"{tutti.MPI_RUN} 4", timeout=200)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("NOT obeyed", done.stdout)

    def calls_of_han(self, algorithm, **environment):
        """Returns how many all_reduces HAN did in a launch with 40 calls of a forced algorithm."""
        file = self.folder / f"{algorithm}.jsonl"
        done = testhosts.run("--", tutti.EXECUTABLE, "bench", "all_reduce", "--algo", "none", "--baseline", f"mpi/{algorithm}",
                             "--counts", 1000, "--inplace", "no", "-n", 40, "--limits", "none", "--json", file, timeout=120,
                             OMPI_MCA_coll_base_verbose="80", **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([point["check"]["state"] for point in tutti.points(file)], ["ok"])
        return len(re.findall(r"HAN searched .*\(allreduce\)", done.stdout + done.stderr))

    def test_runs_where_it_is_forced_and_nowhere_else(self):
        self.assertGreater(self.calls_of_han("han-simple", OMPI_MCA_coll_han_priority="0"), 40)
        self.assertLess(self.calls_of_han("ring", OMPI_MCA_coll_han_priority="35"), 40)


if __name__ == "__main__":
    testhosts.main()
