# SPDX-License-Identifier: Apache-2.0
"""Compares all collectives of torch.distributed over tutti with closed forms."""
import torch_ranks


class EveryCollective(torch_ranks.TorchTest):
    def test_agrees_with_closed_forms(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                for rank, out in enumerate(self.run_ranks(ranks, "every_collective.py")):
                    self.assertRegex(out, rf"(?m)^rank {rank}: [1-9]\d* compared$")

    def test_keeps_its_order_on_any_thread(self):
        self.run_ranks(1, "workers.py")

    def test_can_be_used_by_several_threads(self):
        self.run_ranks(1, "threads.py")

    def test_refuses_unsupported_calls(self):
        self.run_ranks(2, "refusals.py")


if __name__ == "__main__":
    torch_ranks.main()
