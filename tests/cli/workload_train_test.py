# SPDX-License-Identifier: Apache-2.0
"""tutti workload train: what is learnt and reported; bad settings. No time is checked."""
import re
import unittest

import tutti

SHORT = ("--max-time", "10ms", "--min-steps", 2, "-w", 0)
BOTH = ("--algo", "ring", "--transport", "shm", "--baseline", "mpi")


def steps(path):
    return [record for record in tutti.records(path) if record["kind"] == "step"]


def metrics(record):
    """By name, however the record keeps them."""
    found = record["metrics"]
    return found if isinstance(found, dict) else {one["name"]: one["value"] for one in found}


class Train(tutti.Folder):
    def train(self, *words, ranks=0):
        out = self.folder / "out.jsonl"
        words = ("workload", "train", *words, *SHORT, "--json", out)
        done = tutti.run_ranks(ranks, *words) if ranks else tutti.run(*words)
        self.assertEqual((done.returncode, tutti.said(done.stderr)[1:]), (0, []), done.stdout + done.stderr)
        return done.stdout, steps(out)

    @tutti.needs_mpi
    def test_learns_the_digits_on_two_ranks_as_on_one(self):
        _, records = self.train(*BOTH, ranks=2)
        self.assertEqual([record["key"]["way"] for record in records], ["ring/shm", "mpi"])
        for record in records:
            found = metrics(record)
            self.assertGreaterEqual(found["accuracy"], 0.95)
            self.assertLessEqual(found["loss_difference_in_epoch_1"], 1e-5)
            self.assertEqual(record["key"]["bytes"], 4 * 85002)
            self.assertNotIn(record["key"].get("compute"), ("sleep", "burn", "real"))
        self.assertEqual(metrics(records[0])["same_weights"], 1)
        self.assertEqual(metrics(records[0])["same_promised"], 1)
        self.assertNotIn("same_promised", metrics(records[1]))  # nobody knows how a library adds

    @tutti.needs_mpi
    def test_asks_for_tiny_sums_by_lbfgs(self):
        out, (record, _) = self.train(*BOTH, "--optimizer", "lbfgs", "--network", "logistic", "--epochs", 15, ranks=2)
        self.assertRegex(out, r"a step of lbfgs, as timed: \d+ times all gradients, \d+ times 16 bytes")
        self.assertGreaterEqual(record["key"]["calls"], 28)

    def test_learns_from_a_file_of_the_user(self):
        rows = [f"{'+1' if i % 3 else '-1'} 1:{1 if i % 3 else -1} 3:{i % 7 - 3}" for i in range(100)]
        data = self.file("two.libsvm", "\n".join(rows) + "\n")
        out, (record,) = self.train("--data", data, "--network", "logistic", "--epochs", 20, "--ranks", 3, "--algo",
                                    "two-shot", "--transport", "shm", "--baseline", "none")
        self.assertIn("logistic: 8 parameters; 80 rows to learn from, 20 to test by", out)
        self.assertEqual(metrics(record)["accuracy"], 1)

    def test_grows_the_batch_and_the_rate_with_the_ranks(self):
        out, _ = self.train("--scaling", "weak", "--batch", 16, "--epochs", 2, "--ranks", 2, "--algo", "ring",
                            "--transport", "shm", "--baseline", "none")
        self.assertIn("sgd at 0.1", out)
        self.assertRegex(out, r"steps of 32 rows, 16 a rank")

    def test_learns_the_digits_with_four_times_the_batch_and_the_rate(self):
        for network in ("mlp", "cnn"):
            _, (record, *_) = self.train("--network", network, "--scaling", "weak", "--ranks", 4, "--algo", "ring",
                                      "--transport", "shm", "--baseline", "none")
            self.assertGreaterEqual(metrics(record)["accuracy"], 0.95, network)


if __name__ == "__main__":
    unittest.main()
