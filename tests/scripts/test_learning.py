# SPDX-License-Identifier: Apache-2.0
"""The comparisons with PyTorch, and the page of what is learnt, on records that the tests make themselves."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

from folder import Folder

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def run(program, *words, python=(sys.executable, "-B")):
    return subprocess.run([*python, str(SCRIPTS / program), *map(str, words)], capture_output=True, text=True, timeout=60,
                          check=False)


def step(method, p50=0, **metrics):
    return {"kind": "step", "key": {"way": method}, "step_ns": {"p50": p50}, "compute_ns": {"p50": p50 // 2},
            "metrics": [{"name": name, "value": value} for name, value in metrics.items()]}


class Records(Folder):
    def write(self, name, *records, suffix="jsonl"):
        (self.folder / f"{name}.{suffix}").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def refuses(self, program, says, *words, **named):
        done = run(program, *words, **named)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (64, 1), done.stderr)
        self.assertIn(says, done.stderr)


class CompareDdp(Records):
    def launch(self, number, ours, theirs):
        self.write(f"mlp-tutti-{number}", step("auto", ours, accuracy=0.98))
        self.write(f"mlp-pytorch-{number}", {
            "kind": "pytorch", "network": "mlp", "ranks": 2, "batch": 32, "framework": "torch 9, gloo", "accuracy": 0.97,
            "step_ns": [9 * 10**9] * 10 + [theirs - 1000, theirs, theirs + 1000], "alone_ns": [theirs // 4]})

    def test_puts_the_median_of_the_launches_side_by_side(self):
        for number, (ours, theirs) in enumerate(((200_000, 2_000_000), (300_000, 1_000_000), (250_000, 1_500_000)), 1):
            self.launch(number, ours, theirs)
        self.write("mlp-tutti-4", step("auto", 1, accuracy=0))  # whose other half failed
        done = run("compare_ddp", "--summarise", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        row, = (line for line in (self.folder / "ddp.md").read_text(encoding="utf-8").splitlines() if line.startswith("| mlp"))
        self.assertEqual(row, "| mlp | 16 | 2 | 3 | 0.250 | 0.200-0.300 | 0.125 | 1.500 | 1.000-2.000 | 0.375 | 0.17 "
                              "| 98.0% | 97.0% |")

    def test_refuses_in_one_line(self):
        self.refuses("compare_ddp", "--out FOLDER")
        self.refuses("compare_ddp", "logistic, mlp, cnn", "--networks", "mlp,gpt", "--out", self.folder)
        self.refuses("compare_ddp", "--batch", "--batch", 1, "--out", self.folder)
        self.refuses("compare_ddp", "NETWORK-pytorch-LAUNCH.jsonl", "--summarise", self.folder)

    def test_says_what_to_install_where_torch_is_missing(self):
        # Without site's folders there are no packages.
        self.refuses("compare_ddp", "python3-torch", "--out", self.folder,
                     python=(sys.executable, "-B", "-S", "-E"))
        self.assertEqual(list(self.folder.iterdir()), [])


class CompareTorch(Records):
    def training(self, launch, alone, gloo, tutti, hook):
        """Times of a step in us; the first one does not count."""
        times = {"alone": alone, "gloo": gloo, "tutti": tutti, "hook": hook}
        self.write(f"mlp-2-yes-{launch}", {
            "kind": "training", "network": "mlp", "ranks": 2, "heap": True, "steps": 3, "uncounted": 1, "parameters": 1000, "framework": "torch 9",
            "step_ns": {way: [10**9, 1000 * time, 1000 * time] for way, time in times.items()}, "largest_weight": 2,
            "largest_difference": {"tutti": 0, "hook": launch * 1e-6}}, suffix="json")

    def page(self):
        done = run("compare_torch", "--summarise", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (self.folder / "torch.md").read_text(encoding="utf-8").splitlines()

    def test_tells_what_a_step_takes_beyond_one_without_communication(self):
        self.training(1, 1000, 3000, 1500, 2000)
        self.training(2, 1000, 5000, 2000, 2000)
        self.training(3, 2000, 3000, 2500, 2400)
        row, = (line for line in self.page() if line.startswith("| mlp"))
        self.assertEqual(row, "| mlp | 1000 | 2 | yes | 1.000 | 2.000 | 0.500 | 1.000 | 0.25 | 0.25-0.50 | 0.40 | 0.25-0.50 | 2e-06 |")

    def test_tells_how_many_times_as_fast_a_call_is(self):
        for launch, gloo in enumerate((100_000, 200_000, 160_000), 1):
            times = {"gloo": [gloo] * 3, "tutti": [40_000, 50_000, 90_000]}
            self.write(f"calls-4-no-{launch}", {"kind": "calls", "ranks": 4, "heap": False, "framework": "torch 9",
                                                "sizes": [{"bytes": 8, "call_ns": times}]}, suffix="json")
        self.assertIn("| 8 | 4 | no | 160.0 | 50.0 | 3.20 | 2.00-4.00 |", self.page())

    def test_refuses_in_one_line(self):
        self.refuses("compare_torch", "--out FOLDER")
        self.refuses("compare_torch", "mlp, transformer, resnet18", "--networks", "gpt")
        self.refuses("compare_torch", "--heap", "--heap", "maybe")
        self.refuses("compare_torch", "--ranks", "--ranks", "2,1")
        self.refuses("compare_torch", "WHAT-RANKS-HEAP-LAUNCH.json", "--summarise", self.folder)


class CheckLearning(Records):
    def test_reports_accuracy_staleness_and_what_leaving_behind_gains(self):
        self.write("train-mlp-strong-np4", step("ring/shm", accuracy=0.949, one_rank_accuracy=0.96, same_weights=1))
        self.write("server-np3", step("1 server sync", accuracy=0.97), step("1 server async", accuracy=0.96, mean_staleness=1.996,
                                                                              max_staleness=5), step("all-reduce ring/shm", accuracy=0.98))
        for number, dropping in enumerate((2.0, 2.4, 2.2), 1):
            self.write(f"slowed-np4-{number}", step("1 server sync", free_step_ms=2, accuracy=1),
                       step("1 server sync, slowed", free_step_ms=6, accuracy=1),
                       step("1 server sync, slowed, dropping 1", free_step_ms=dropping, accuracy=0.97, late=9))
        done = run("check_learning", "--summarise", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = (self.folder / "learning.md").read_text(encoding="utf-8")
        for line in ("| mlp | strong | 4 | 94.9% | 96.0% | yes | no |",
                     "| 3 | 1 | 2.00 | 2 | 5 | 96.0% | 97.0% | 98.0% |",
                     "| 1 server sync, slowed | 6.000 | 6.000-6.000 | 3.00 | 0 | 100.0% |",
                     "| 1 server sync, slowed, dropping 1 | 2.200 | 2.000-2.400 | 1.10 | 9 | 97.0% |"):
            self.assertIn(line + "\n", page)

    def test_refuses_in_one_line(self):
        self.refuses("check_learning", "--out FOLDER")
        self.refuses("check_learning", "train-logistic-strong-np1", "--only", "nothing")


if __name__ == "__main__":
    unittest.main()
