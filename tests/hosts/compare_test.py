# SPDX-License-Identifier: Apache-2.0
"""Runs 'tutti compare' on the first of several hosts: both jobs have ranks on all hosts and alternate."""
import unittest

import testhosts
import tutti

# The jobs' first ranks may be on any host, so --listen needs the address of this one.
COMPARE = ('exec "$0" compare --launcher "$TESTHOSTS_MPIRUN" --listen "$(hostname -i)" --budget 20s --json "$1" '
           '--words-a "--algo ring" --words-b "--algo tree" -- bench all_reduce --transport mpi --baseline none '
           '--counts 64 --inplace no --limits none')


@tutti.needs_mpi
class Comparison(tutti.Folder):
    def test_of_jobs_across_hosts(self):
        file = self.folder / "compare.jsonl"
        done = testhosts.run("--on", "h0", "--ranks-per-host", 1, "--", "sh", "-c", COMPARE, tutti.EXECUTABLE, file, timeout=120)
        self.assertIn(done.returncode, (0, 1, 3), done.stdout + done.stderr)
        verdicts = [record["verdict"] for record in tutti.records(file) if record["kind"] == "verdict"]
        self.assertEqual(len(verdicts), 1, done.stdout + done.stderr)
        self.assertIn(verdicts[0], ("slower", "faster", "same", "undecided"))
        pairs = [record for record in tutti.records(file) if record["kind"] == "pair"]
        self.assertGreater(len(pairs), 0)
        # A packet from host to host takes longer than a call within one.
        self.assertGreater(min(record["a_ns"] for record in pairs), 3000)


if __name__ == "__main__":
    testhosts.main()
