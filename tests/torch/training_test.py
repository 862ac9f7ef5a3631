# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel trains the same weights over tutti as over gloo."""
import json

import torch_ranks

STEPS = 50


class Training(torch_ranks.TorchTest):
    def test_equals_that_over_gloo(self):
        for ranks in (2, 4):
            losses = {}
            for way in ("gloo", "tutti", "hook"):
                outputs = [json.loads(out) for out in self.run_ranks(ranks, "train.py", way, STEPS)]
                for out in outputs:
                    self.assertEqual(out["weights"], outputs[0]["weights"])
                losses[way] = outputs
            for way in ("tutti", "hook"):
                with self.subTest(ranks=ranks, way=way):
                    for got, expected in zip(losses[way], losses["gloo"]):
                        self.assertEqual(len(got["losses"]), STEPS)
                        for one, other in zip(got["losses"], expected["losses"]):
                            self.assertAlmostEqual(one, other, delta=1e-4 * max(1, abs(other)))
                        for one, other in zip(got["weights"], expected["weights"]):
                            self.assertAlmostEqual(one, other, delta=1e-4)
                        self.assertLess(got["losses"][-1], 0.7 * got["losses"][0])


if __name__ == "__main__":
    torch_ranks.main()
