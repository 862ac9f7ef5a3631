# SPDX-License-Identifier: Apache-2.0
"""tutti workload train: accuracy and reports. No time is checked."""
import unittest

import tutti

SHORT = ("--max-time", "10ms", "--min-steps", 2, "-w", 0)
BOTH = ("--algo", "ring", "--transport", "shm", "--baseline", "mpi")


class Train(tutti.Folder):
    def train(self, *words, ranks=0):
        words = ("workload", "train", *words, *SHORT, "--json", self.results)
        done = tutti.run_ranks(ranks, *words) if ranks else tutti.run(*words)
        self.assertEqual((done.returncode, tutti.said(done.stderr)[1:]), (0, []), done.stdout + done.stderr)
        return done.stdout, list(tutti.steps(self.results).values())

    @tutti.needs_mpi
    def test_learns_the_digits_on_two_ranks_as_on_one(self):
        _, records = self.train(*BOTH, ranks=2)
        self.assertEqual([record["key"]["way"] for record in records], ["ring/shm", "mpi"])
        for record in records:
            found = record["metrics"]
            self.assertGreaterEqual(found["accuracy"], 0.95)
            self.assertLessEqual(found["loss_difference_in_epoch_1"], 1e-5)
            self.assertEqual(record["key"]["bytes"], 4 * 85002)
            self.assertNotIn(record["key"].get("compute"), ("sleep", "burn", "real"))
        self.assertEqual(records[0]["metrics"]["same_weights"], 1)
        self.assertEqual(records[0]["metrics"]["same_promised"], 1)
        self.assertNotIn("same_promised", records[1]["metrics"])  # the order of a library is unknown

    @tutti.needs_mpi
    def test_asks_for_tiny_sums_by_lbfgs(self):
        out, (record, _) = self.train(*BOTH, "--optimizer", "lbfgs", "--network", "logistic", "--epochs", 15, ranks=2)
        self.assertIn("lbfgs", out)
        self.assertGreaterEqual(record["key"]["calls"], 28)

    def test_learns_from_a_file_of_the_user(self):
        rows = [f"{'+1' if i % 3 else '-1'} 1:{1 if i % 3 else -1} 3:{i % 7 - 3}" for i in range(100)]
        data = self.file("two.libsvm", "\n".join(rows) + "\n")
        out, (record,) = self.train("--data", data, "--network", "logistic", "--epochs", 20, "--ranks", 3, "--algo",
                                    "two-shot", "--transport", "shm", "--baseline", "none")
        self.assertRegex(out, "logistic: 8 parameters; 80 .* 20 ")
        self.assertEqual(record["metrics"]["accuracy"], 1)

    def test_grows_the_batch_and_the_rate_with_the_ranks(self):
        out, _ = self.train("--scaling", "weak", "--batch", 16, "--epochs", 2, "--ranks", 2, "--algo", "ring",
                            "--transport", "shm", "--baseline", "none")
        self.assertIn("sgd at 0.1", out)
        self.assertRegex(out, r"32 rows, 16 ")

    def test_learns_the_digits_with_four_times_the_batch_and_the_rate(self):
        for network in ("mlp", "cnn"):
            _, (record, *_) = self.train("--network", network, "--scaling", "weak", "--ranks", 4, "--algo", "ring",
                                      "--transport", "shm", "--baseline", "none")
            self.assertGreaterEqual(record["metrics"]["accuracy"], 0.95, network)


if __name__ == "__main__":
    unittest.main()
