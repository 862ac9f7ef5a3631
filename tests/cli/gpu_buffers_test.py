# SPDX-License-Identifier: Apache-2.0
"""Buffers on GPUs and for GPUs: refused without a GPU; all commands have them with the emulated GPU. No time is checked."""
import json
import unittest

import tutti
from tutti import QUICK

EMULATED = ("--ranks", 2, "--algo", "ring", "--transport", "cuda-emulated,shm,loopback", "--baseline", "none")
STEPS = ("--scale", "1e-4", "--step-time", "1ms", "--min-steps", 2, "-n", 2)


class Refused(tutti.Folder):
    def test_without_a_gpu_all_buffers_that_need_one(self):
        reason = tutti.transport_missing("cuda")
        if not reason:
            self.skipTest("there is a GPU")
        for kind in ("device", "pinned"):
            for command in (("bench", "all_reduce", *QUICK), ("tune", "all_reduce", "--table", self.folder / "t.json"),
                            ("workload", "ddp", *STEPS)):
                with self.subTest(kind=kind, command=command[0]):
                    self.fails(64, *command, "--ranks", 2, "--buffers", kind, key=reason[:60])

    def test_a_library_that_is_the_only_one_named_and_is_missing(self):
        missing = [row for row in json.loads(tutti.run("list", "--json").stdout)["baselines"]
                   if row["name"] == "nccl" and row.get("missing")]
        if not missing:
            self.skipTest("there is NCCL and a GPU")
        words = ("bench", "all_reduce", "--ranks", 2, "--transport", "shm", "--algo", "ring", "--counts", 4, *QUICK)
        self.fails(64, *words, "--baseline", "nccl", key="nccl: ")
        for baselines in ("all", "none", "nccl,none"):
            self.ok(*words, "--baseline", baselines)

    def test_if_the_host_computes_on_their_contents(self):
        for compress in ("int8", "none,bf16"):
            self.fails(64, "workload", "ddp", *EMULATED, *STEPS, "--buffers", "device", "--compress", compress, key="--compress none")
        for workload in ("train", "federated", "parameter-server"):
            for kind in ("device", "pinned"):
                with self.subTest(workload=workload, kind=kind):
                    self.fails(64, "workload", workload, *EMULATED, "--buffers", kind, key=f"no {kind} buffers")


class OverTheEmulatedGpu(tutti.Folder):
    def test_bench_measures_on_all_kinds_of_buffers_and_records_which(self):
        file = self.folder / "r.jsonl"
        table = self.ok("bench", "all_reduce", *EMULATED, "--counts", "10,5000", *QUICK, "--json", file,
                          "--buffers", "host,pinned,device,registered")
        points = tutti.points(file)
        self.assertEqual({(point["key"]["buf"], point["key"]["transport"]) for point in points},
                         {(kind, transport) for kind in ("host", "pinned", "cuda", "registered")
                          for transport in ("cuda-emulated", "shm", "loopback")})
        for point in points:
            self.assertEqual(point["check"], {"state": "ok", "n_wrong": 0}, point["key"])
        for kind in ("unregistered", "pinned", "device", "registered"):
            self.assertIn(f"# {kind} buffers\n", table)

    def test_tune_finds_the_best_on_the_memory_of_devices(self):
        table = self.folder / "t.json"
        out = self.ok("tune", "all_reduce", *EMULATED, "--buffers", "device", "-b", 8, "-e", "2K", "-f", 16, "--segment",
                        "8K", "--radix", 2, "--channels", 1, "--model", "none", "--budget", "20s", "--table", table)
        sections = json.loads(table.read_text())["sections"]
        self.assertEqual([section["subject"]["buffers"] for section in sections], ["device"])
        self.assertIn("all_reduce native plain device: ", out)
        self.ok("tune", "--explain", table)
        file = self.folder / "auto.jsonl"
        self.ok("bench", "all_reduce", *EMULATED[:2], "--algo", "auto,ring", *EMULATED[4:], "--buffers", "device",
                  "--counts", "10,500", *QUICK, "--table", table, "--json", file)
        chosen = [point for point in tutti.points(file) if point["key"]["algo"] == "auto"]
        self.assertEqual(len(chosen), 2 * 2)
        for point in chosen:
            self.assertEqual((point["key"]["buf"], point["check"]), ("cuda", {"state": "ok", "n_wrong": 0}), point)
            self.assertRegex(point["choice"], "^ring.*/(shm|loopback|cuda-emulated\\(v\\))$")

        for command in (("bench", "all_reduce", "--counts", 10, *QUICK), ("workload", "ddp", *STEPS)):
            with self.subTest(command=command[0]):
                said = self.ok(*command, *EMULATED[:2], "--algo", "auto", *EMULATED[4:], "--table", table)
                self.assertRegex(said, f"# auto: by .*built-in rules.* {table} ")

    def test_a_training_step_has_its_buckets_on_devices(self):
        for workload in (("ddp",), ("zero",), ("moe",)):
            for kind in ("device", "pinned"):
                with self.subTest(workload=workload, kind=kind):
                    file = self.folder / f"{workload[0]}-{kind}.jsonl"
                    table = self.ok("workload", *workload, *EMULATED, *STEPS, "--buffers", kind, "--json", file)
                    self.assertIn(" ring/cuda-emulated(v) ", table)
                    steps = [record for record in tutti.records(file) if record["kind"] == "step"]
                    self.assertEqual({step["key"]["way"] for step in steps},
                                     {"ring/cuda-emulated", "ring/loopback", "ring/shm"})
                    for step in steps:
                        placement = "virtual ranks" if step["key"]["way"] == "ring/cuda-emulated" else None
                        self.assertEqual(step["key"].get("placement"), placement)
                        self.assertEqual((step["key"]["buffers"], step["check"]), (kind, {"state": "ok", "n_wrong": 0}))

    def test_methods_that_cannot_use_them_are_skipped_with_the_reason(self):
        out = self.ok("workload", "ddp", *EMULATED[:2], *EMULATED[4:], "--algo", "auto,ring", *STEPS, "--buffers", "device",
                        "--allow-skips")
        self.assertRegex(out, r"# skipped auto: .*--buffers dev")


if __name__ == "__main__":
    unittest.main()
