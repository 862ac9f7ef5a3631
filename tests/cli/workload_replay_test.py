# SPDX-License-Identifier: Apache-2.0
"""A trace replayed by the command: whole, repeated, with its gradients. No time is checked."""
import struct
import unittest

import tutti

RECORDED = tutti.ROOT / "workloads/traces/recorded"
FEW = ("-n", 2, "--min-steps", 1, "-w", 0, "--max-time", "1ms", "--algo", "ring", "--transport", "loopback,shm", "--baseline",
       "none", "--time-scale", 0.01)

GRADIENTS = """\
{"schema":"gradtrace/1","form":"lines","kind":"gradients","model":"net","ready_order":[1,0]}
{"line":"parameter","id":0,"name":"a","shape":[4,5]}
{"line":"parameter","id":1,"name":"b","shape":[5]}
{"line":"bucket","numel":5,"params":[1]}
{"line":"bucket","numel":20,"params":[0]}
{"line":"iteration","ready_us":[100,300]}
{"line":"end","lines":7}
"""

CALLS = """\
{"schema":"gradtrace/1","form":"lines","kind":"ops","model":"calls","world":2}
{"line":"op","rank":0,"op":"all_to_allv","id":1,"in_split":[1,2],"out_split":[1,30]}
{"line":"op","rank":0,"op":"send","peer":1,"count":1000,"deps":[1]}
{"line":"op","rank":1,"op":"all_to_allv","in_split":[30,4],"out_split":[2,4]}
{"line":"op","rank":1,"op":"recv","peer":0,"count":1000}
{"line":"end","lines":6}
"""

BARRIERS = """\
{"schema":"gradtrace/1","form":"lines","kind":"ops","model":"barriers","world":2}
{"line":"op","rank":0,"op":"all_reduce","count":50}
{"line":"op","rank":0,"op":"barrier"}
{"line":"op","rank":0,"op":"scan","count":100}
{"line":"op","rank":1,"op":"all_reduce","count":50}
{"line":"op","rank":1,"op":"barrier"}
{"line":"op","rank":1,"op":"scan","count":100}
{"line":"end","lines":8}
"""


class Replay(tutti.Folder):
    def replay(self, *words, ranks=2):
        results = self.folder / "r.jsonl"
        results.unlink(missing_ok=True)
        done = tutti.run("workload", "replay", *words, "--ranks", ranks, "--json", results, *FEW)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout + done.stderr)
        steps = [record for record in tutti.records(results) if record["kind"] == "step"]
        self.assertGreater(len(steps), 0)
        for step in steps:
            self.assertEqual(step["check"]["state"], "ok", step)
        return done.stdout, steps

    def refused(self, *words, ranks=2):
        done = tutti.run("workload", "replay", *words, "--ranks", ranks, *FEW)
        lines = tutti.said(done.stderr)
        self.assertEqual((done.returncode, len(lines)), (64, 1), done.stderr)
        return lines[0]

    def test_of_a_recorded_trace_sends_its_buckets(self):
        for name, parameters, buffers in (("mlp", 596490, 0), ("cnn", 71786, 32 * 4 + 8)):
            _, steps = self.replay(RECORDED / f"{name}.jsonl", ranks=3)
            self.assertEqual({step["key"]["bytes"] for step in steps}, {4 * parameters + buffers})

    def test_takes_other_buckets_and_several_steps_as_one(self):
        trace = self.file("net.jsonl", GRADIENTS)
        calls = lambda *words: {step["key"]["calls"] for step in self.replay(trace, *words)[1]}
        self.assertEqual(calls(), {2})
        self.assertEqual(calls("--bucket-cap", "1K"), {1})
        self.assertEqual(calls("--bucket-cap", 1, "--first-bucket", 1, "--repeat", 3), {6})

    def test_sends_the_recorded_gradients_themselves(self):
        trace = self.file("net.jsonl", GRADIENTS)
        self.assertNotIn("recorded gradients", self.replay(trace)[0])
        for bucket, count in ((0, 5), (1, 20)):
            (self.folder / f"net.step0.bucket{bucket}.rank0.f32").write_bytes(struct.pack(f"<{count}f", *range(count)))
        self.assertIn("recorded gradients", self.replay(trace, "--repeat", 2)[0])
        self.assertNotIn("recorded gradients", self.replay(trace, "--gradients", "no")[0])
        (self.folder / "net.step0.bucket1.rank0.f32").write_bytes(b"1234")
        self.assertIn("net.step0.bucket1.rank0.f32", self.refused(trace))

    def test_of_calls_sends_uneven_parts_as_recorded(self):
        out, steps = self.replay(self.file("calls.jsonl", CALLS))
        self.assertNotIn("padding_bytes", out)
        # Rank 1 sends 30 and 4 elements, and receives a message.
        self.assertEqual({step["key"]["bytes"] for step in steps}, {4 * (34 + 1000)})

    def test_of_barriers_and_scans_uses_their_own_algorithms(self):
        _, steps = self.replay(self.file("barriers.jsonl", BARRIERS))
        self.assertEqual({(step["key"]["calls"], step["key"]["bytes"]) for step in steps}, {(3, 600)})

    def test_of_calls_pads_uneven_parts_and_reports_the_padding(self):
        trace = self.file("calls.jsonl", CALLS)
        out, steps = self.replay(trace, "--padding", "yes")
        padding = 4 * (4 * 30 - 37)
        self.assertIn(f"{padding} additional bytes", out)
        self.assertIn(f"padding_bytes={padding}", out)
        self.assertEqual({step["key"]["bytes"] for step in steps}, {4 * (2 * 30 + 1000)})
        ways = [step["key"]["way"] for step in self.replay(trace, "--padding", "both")[1]]
        self.assertEqual(ways, ["ring/loopback", "ring/loopback+padded", "ring/shm", "ring/shm+padded"])
        ways = [step["key"]["way"] for step in self.replay(RECORDED / "mlp.jsonl", "--padding", "both")[1]]
        self.assertEqual(ways, ["ring/loopback", "ring/shm"])

    def test_of_calls_needs_the_same_number_of_ranks(self):
        said = self.refused(self.file("calls.jsonl", CALLS), ranks=3)
        self.assertIn("--ranks 2", said)


if __name__ == "__main__":
    unittest.main()
