# SPDX-License-Identifier: Apache-2.0
"""The patterns of parallelism by the command: right results, and the bytes of the formulas."""
import unittest

import tutti

QUICK = ("--step-time", "1ms", "--min-steps", 2, "-n", 2, "-w", 0, "--algo", "ring")
THREADS = ("--ranks", 2, "--transport", "loopback,shm", "--baseline", "none")
OVER_MPI = ("--transport", "mpi,shm", "--baseline", "mpi")

ELEMENT, HIDDEN, LAYERS = 4, 768, 12  # bert-base and gpt2
DLRM = 2_368_897


class Pattern(tutti.Folder):
    def steps(self, *words, run=tutti.run):
        path = self.folder / "s.jsonl"
        path.unlink(missing_ok=True)
        done = run("workload", *words, *QUICK, "--json", path)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout + done.stderr)
        self.assertIn(tutti.ALL_RIGHT, done.stdout)
        return [record for record in tutti.records(path) if record["kind"] == "step"], done.stdout

    def check(self, *words, methods, run=tutti.run):
        """The bytes and the calls of a step, which all methods agree in; every method was right."""
        steps, out = self.steps(*words, run=run)
        self.assertEqual([step["key"]["way"] for step in steps], methods)
        self.assertEqual([step.get("skipped") for step in steps], [None] * len(methods))
        self.assertEqual([step["check"] for step in steps], [{"state": "ok", "n_wrong": 0}] * len(methods), out)
        found, = {(step["key"]["bytes"], step["key"]["calls"]) for step in steps}
        return found

    def as_threads(self, *words):
        return self.check(*words, *THREADS, methods=["ring/loopback", "ring/shm"])

    def under_mpirun(self, *words):
        if reason := tutti.mpi_missing():
            self.skipTest(reason)
        return self.check(*words, *OVER_MPI, methods=["ring/mpi", "ring/shm", "mpi"],
                          run=lambda *all_words: tutti.run_ranks(2, *all_words))


class Zero(Pattern):
    def test_hands_over_gradients_and_its_share_of_weights_once_or_twice(self):
        for stage, shares in ((1, 1), (2, 1), (3, 2)):
            with self.subTest(stage):
                bytes_of_step, calls = self.as_threads("zero", "--model", "dlrm", "--stage", stage)
                formula = ELEMENT * DLRM * (2 + shares) // 2
                self.assertGreaterEqual(bytes_of_step, formula)
                self.assertLess(bytes_of_step, formula + calls * ELEMENT * 2)  # padded to multiples of the ranks


class TensorParallel(Pattern):
    MODEL = ("tensor-parallel", "--model", "gpt2", "--scale", "small", "--tokens", 16)
    SUM = ELEMENT * 16 * HIDDEN

    def test_hands_over_two_sums_a_layer_and_direction(self):
        self.assertEqual(self.as_threads(*self.MODEL)[0], (4 * LAYERS + 2) * self.SUM + 12 * 16)

    def test_with_sequence_parallelism_gathers_and_scatters(self):
        found, _ = self.as_threads(*self.MODEL, "--sequence-parallel", "yes")
        self.assertEqual(found, (4 * LAYERS + 2) * self.SUM + 6 * LAYERS * self.SUM // 2 + 12 * 16)


class Pipeline(Pattern):
    MODEL = ("pipeline", "--model", "bert-base", "--scale", "small", "--tokens", 16, "--micro-batches", 8)
    BOUNDARY = 2 * 8 * ELEMENT * 16 * HIDDEN

    def test_passes_activations_and_gradients_over_the_boundary(self):
        for schedule in ("gpipe", "1f1b"):
            with self.subTest(schedule):
                self.assertEqual(self.as_threads(*self.MODEL, "--schedule", schedule)[0], self.BOUNDARY)

    def test_runs_under_mpirun(self):
        self.assertEqual(self.under_mpirun(*self.MODEL)[0], self.BOUNDARY)


class Moe(Pattern):
    # So small that every tensor is one number, but for the tokens: 7 tensors a layer and 3 more are no experts'.
    TOKENS, EXPERTS, LAYERS, HIDDEN = 4, 8, 32, 4096
    MODEL = ("moe", "--scale", "1e-9", "--tokens", TOKENS)
    CAPACITY = 2  # 1.25 times the mean of 4 tokens' 8 choices over 8 experts, rounded up
    BYTES = LAYERS * (4 * EXPERTS * CAPACITY * HIDDEN * ELEMENT + 8 * EXPERTS) + ELEMENT * (7 * LAYERS + 3)

    def test_sends_tokens_there_and_back_and_averages_what_is_no_experts(self):
        self.assertEqual(self.as_threads(*self.MODEL)[0], self.BYTES)

    def test_runs_under_mpirun(self):
        self.assertEqual(self.under_mpirun(*self.MODEL)[0], self.BYTES)

    # Two recorded steps of one layer, which the 32 layers take by turns; a token is HIDDEN elements.
    ROUTING = "3 1\n5 0\n\n0 0\n2 7\n"
    # The busiest is rank 1: it sends 5 and 9 tokens and receives 1 and 7, which come back, in forward and backward.
    OF_TOKENS = LAYERS // 2 * 2 * (5 + 9 + 1 + 7) * HIDDEN * ELEMENT + LAYERS * 2 * 8 + ELEMENT * (7 * LAYERS + 3)

    def test_sends_what_a_recording_has(self):
        file = self.folder / "routing"
        file.write_text(self.ROUTING)
        words = "moe", "--scale", "1e-9", "--routing", file
        methods = ["ring/loopback", "ring/loopback+padded", "ring/shm", "ring/shm+padded"]
        self.assertEqual(self.check(*words, *THREADS, methods=methods)[0], self.OF_TOKENS)
        steps, _ = self.steps(*words, *THREADS)
        shares = [metric["value"] for step in steps for metric in step["metrics"] if metric["name"] == "padding_share"]
        self.assertEqual([round(share, 6) for share in shares], [0, round(1 - 18 / 48, 6)] * 2)
        self.assertEqual(self.check(*words, *THREADS, "--padding", "no", methods=methods[::2])[0], self.OF_TOKENS)

    def test_sends_a_recording_under_mpirun(self):
        if reason := tutti.mpi_missing():
            self.skipTest(reason)
        file = self.folder / "routing"
        file.write_text(self.ROUTING)
        methods = ["ring/mpi", "ring/mpi+padded", "ring/shm", "ring/shm+padded", "mpi", "mpi+padded"]
        found = self.check("moe", "--scale", "1e-9", "--routing", file, *OVER_MPI, methods=methods,
                           run=lambda *words: tutti.run_ranks(2, *words))
        self.assertEqual(found[0], self.OF_TOKENS)

    def test_scaled_down_still_has_tokens_to_route(self):
        _, out = self.steps("moe", "--scale", "small", "--ranks", 2, "--transport", "shm", "--baseline", "none")
        self.assertIn("16 tokens", out)


if __name__ == "__main__":
    unittest.main()
