# SPDX-License-Identifier: Apache-2.0
"""Compression, skew and the search for a bucket cap, as options of the command. No time is checked."""
import json
import unittest

import tutti

DDP = ("workload", "ddp", "--ranks", 2, "--scale", "small", "--step-time", "4ms", "--algo", "ring", "--transport", "shm",
       "--baseline", "none", "--min-steps", 2, "-n", 2, "-w", 0)


class Workload(tutti.Folder):
    def measured(self, *words):
        """The output, and the steps by method."""
        out = self.ok(*DDP, *words, "--json", self.results)
        return out, tutti.steps(self.results)

    def test_compares_each_method_with_the_same_compressed(self):
        out, steps = self.measured("--compress", "none,bf16,int8,topk:1%")
        self.assertEqual(list(steps), ["ring/shm", "ring/shm+bf16", "ring/shm+int8", "ring/shm+topk:1%"])
        self.assertEqual(steps["ring/shm"]["check"]["state"], "ok")
        for method, saved, least, most in [("ring/shm+bf16", 0.5, 1e-4, 4e-3), ("ring/shm+int8", 0.75, 1e-3, 5e-2),
                                        ("ring/shm+topk:1%", 0.98, 0.5, 0.85)]:
            metrics = steps[method]["metrics"]
            self.assertEqual(steps[method]["check"]["state"], "skipped")
            self.assertAlmostEqual(metrics["bytes_saved"], saved, delta=2e-3)
            self.assertTrue(least < metrics["error"] < most, metrics)
            self.assertGreater(metrics["compress_ms"], 0)
        self.assertLess(metrics["error_10_steps"], metrics["error"])
        self.assertIn(tutti.ALL_RIGHT, out)

    def test_real_training_goes_on_with_compressed_gradients(self):
        ring = ("--ranks", 2, "--algo", "ring", "--transport", "shm", "--baseline", "none", "--max-time", "10ms", "--min-steps", 2)
        for workload, method in [(("train", "--epochs", 4), "ring/shm"), (("parameter-server", "--epochs", 4), "all-reduce ring/shm"),
                              (("federated",), "ring/shm")]:
            file = self.folder / f"{workload[0]}.jsonl"
            done = tutti.run("workload", *workload, *ring, "--compress", "bf16,topk:1%", "--json", file)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            steps = tutti.steps(file)
            step = steps[f"{method}+bf16"]
            self.assertEqual(step["check"]["state"], "skipped")
            metrics = step["metrics"]
            self.assertAlmostEqual(metrics["bytes_saved"] if workload[0] != "federated" else 0.5, 0.5, delta=2e-3)
            self.assertGreater(metrics["accuracy"], 0.9)
            if workload[0] == "federated":
                self.assertIn("topk", steps[f"{method}+topk:1%"]["skipped"])
            else:  # far fewer bytes learn more slowly, but they do learn
                self.assertGreater(steps[f"{method}+topk:1%"]["metrics"]["accuracy"], 0.5)

    def test_compressing_nothing_is_no_method(self):
        done = tutti.run("workload", "zero", "--ranks", 2, "--scale", "small", "--stage", 3, "--step-time", "1ms", "--algo", "ring",
                         "--transport", "shm", "--baseline", "none", "--compress", "none,int8", "--max-time", "10ms", "--min-steps", 2)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("# skipped ring/shm+int8: ", done.stdout)

    def test_reports_the_effect_of_skew(self):
        _, steps = self.measured("--skew", "50%", "--slow-rank", "1:2")
        step, = steps.values()
        metrics = step["metrics"]
        self.assertEqual(step["key"]["settings"].split()[-2:], ["skew=50%", "slow-rank=1:2"])
        self.assertTrue(4 <= metrics["skew_ms"] <= 8, metrics)  # at most 4 ms: twice as long, and up to half more
        self.assertEqual({"unskewed_step_ms", "step_over_unskewed", "wait_added_ms", "sensitivity"} - set(metrics), set())

    def test_finds_the_bucket_cap_for_a_network(self):
        out, _ = self.measured("--bucket-cap", "auto", "--network", "100us+1.25GB/s", "--first-bucket", "4M")
        self.assertIn("100.0 us + 1.250 GB/s\n", out)
        caps = [line for line in out.splitlines() if line.startswith("# bucket cap")]
        self.assertEqual([line.split()[3] for line in caps], ["256K:", "512K:", "1M:", "2M:", "4M:", "8M:"])
        least, = (line for line in caps if line.endswith(", the least"))
        exposed = [float(line.split(" leave ")[1].split()[0]) for line in caps]
        self.assertEqual(float(least.split(" leave ")[1].split()[0]), min(exposed))
        out, _ = self.measured("--bucket-cap", "auto")
        self.assertIn("# network, ", out)


if __name__ == "__main__":
    unittest.main()
