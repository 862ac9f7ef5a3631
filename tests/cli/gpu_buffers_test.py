# SPDX-License-Identifier: Apache-2.0
"""Buffers on GPUs and for GPUs: what is refused where there is none, and that all commands have them over the
emulated one. No time is checked."""
import json
import unittest

import tutti
from tutti import QUICK

EMULATED = ("--ranks", 2, "--algo", "ring", "--transport", "cuda-emulated,shm,loopback", "--baseline", "none")
STEPS = ("--scale", "1e-4", "--step-time", "1ms", "--min-steps", 2, "-n", 2)


class Refused(tutti.Folder):
    def refused(self, *words, says):
        done = tutti.run(*words)
        lines = tutti.said(done.stderr)
        self.assertEqual((done.returncode, len(lines)), (64, 1), done.stdout + done.stderr)
        for text in says:
            self.assertIn(text, lines[0])

    def test_without_a_gpu_all_buffers_that_need_one(self):
        reason = tutti.transport_missing("cuda")
        if not reason:
            self.skipTest("there is a GPU")
        for kind, what in (("device", "device buffers: "), ("pinned", "pinned buffers: ")):
            for command in (("bench", "all_reduce", *QUICK), ("tune", "all_reduce", "--table", self.folder / "t.json"),
                            ("workload", "ddp", *STEPS)):
                with self.subTest(kind=kind, command=command[0]):
                    self.refused(*command, "--ranks", 2, "--buffers", kind, says=[what + reason[:60]])

    def test_a_library_that_is_the_only_one_named_and_is_missing(self):
        missing = [row for row in json.loads(tutti.run("list", "--json").stdout)["baselines"]
                   if row["name"] == "nccl" and row.get("missing")]
        if not missing:
            self.skipTest("there is NCCL and a GPU")
        words = ("bench", "all_reduce", "--ranks", 2, "--transport", "shm", "--algo", "ring", "--counts", 4, *QUICK)
        self.refused(*words, "--baseline", "nccl",
                     says=["--baseline names what is not there: nccl: ", "type --baseline none, or all"])
        for baselines in ("all", "none", "nccl,none"):
            done = tutti.run(*words, "--baseline", baselines)
            self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout + done.stderr)

    def test_where_the_host_compresses(self):
        for compress in ("int8", "none,bf16"):
            self.refused("workload", "ddp", *EMULATED, *STEPS, "--buffers", "device", "--compress", compress,
                         says=["the host compresses", "type --buffers registered or --compress none"])

    def test_where_the_host_computes_what_is_in_them(self):
        for workload in ("train", "federated", "parameter-server"):
            for kind in ("device", "pinned"):
                with self.subTest(workload=workload, kind=kind):
                    self.refused("workload", workload, *EMULATED, "--buffers", kind,
                                 says=[f"no {kind} buffers here", "type --buffers registered or unregistered"])


class OverTheEmulatedGpu(tutti.Folder):
    def done(self, *words):
        done = tutti.run(*words, timeout=120)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout + done.stderr)
        return done.stdout

    def test_bench_measures_on_all_kinds_of_buffers_and_records_which(self):
        file = self.folder / "r.jsonl"
        table = self.done("bench", "all_reduce", *EMULATED, "--counts", "10,5000", *QUICK, "--json", file,
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
        out = self.done("tune", "all_reduce", *EMULATED, "--buffers", "device", "-b", 8, "-e", "2K", "-f", 16, "--segment",
                        "8K", "--radix", 2, "--channels", 1, "--model", "none", "--budget", "20s", "--table", table)
        sections = json.loads(table.read_text())["sections"]
        self.assertEqual([section["subject"]["buffers"] for section in sections], ["device"])
        self.assertIn("all_reduce native plain device: ", out)
        self.done("tune", "--explain", table)
        file = self.folder / "auto.jsonl"
        self.done("bench", "all_reduce", *EMULATED[:2], "--algo", "auto,ring", *EMULATED[4:], "--buffers", "device",
                  "--counts", "10,500", *QUICK, "--table", table, "--json", file)
        chosen = [point for point in tutti.points(file) if point["key"]["algo"] == "auto"]
        self.assertEqual(len(chosen), 2 * 2)
        for point in chosen:
            self.assertEqual((point["key"]["buf"], point["check"]), ("cuda", {"state": "ok", "n_wrong": 0}), point)
            self.assertRegex(point["choice"], "^ring.*/(shm|loopback|cuda-emulated\\(v\\))$")

        for command in (("bench", "all_reduce", "--counts", 10, *QUICK), ("workload", "ddp", *STEPS)):
            with self.subTest(command=command[0]):
                said = self.done(*command, *EMULATED[:2], "--algo", "auto", *EMULATED[4:], "--table", table)
                self.assertIn(f"# auto: by built-in rules, as {table} has nothing for buffers of the host\n", said)

    def test_a_training_step_has_its_buckets_on_devices(self):
        for workload in (("ddp",), ("zero",), ("moe",)):
            for kind in ("device", "pinned"):
                with self.subTest(workload=workload, kind=kind):
                    file = self.folder / f"{workload[0]}-{kind}.jsonl"
                    table = self.done("workload", *workload, *EMULATED, *STEPS, "--buffers", kind, "--json", file)
                    self.assertIn(" ring/cuda-emulated(v) ", table)
                    steps = [record for record in tutti.records(file) if record["kind"] == "step"]
                    self.assertEqual({step["key"]["way"] for step in steps},
                                     {"ring/cuda-emulated", "ring/loopback", "ring/shm"})
                    for step in steps:
                        placement = "virtual ranks" if step["key"]["way"] == "ring/cuda-emulated" else None
                        self.assertEqual(step["key"].get("placement"), placement)
                        self.assertEqual((step["key"]["buffers"], step["check"]), (kind, {"state": "ok", "n_wrong": 0}))

    def test_what_cannot_use_them_is_left_out_with_the_reason(self):
        out = self.done("workload", "ddp", *EMULATED[:2], *EMULATED[4:], "--algo", "auto,ring", *STEPS, "--buffers", "device",
                        "--allow-skips")
        self.assertRegex(out, r"# skipped auto: .*has nothing for \w+ on devices; type first: tutti tune \w+ --buffers dev")


if __name__ == "__main__":
    unittest.main()
