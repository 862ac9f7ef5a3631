# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed over tutti gives what gloo gives, or a closed form where gloo has none."""
import torch_ranks


class EveryCollective(torch_ranks.TorchTest):
    def test_gives_what_gloo_gives(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                for rank, out in enumerate(self.run_ranks(ranks, "every_collective.py")):
                    self.assertRegex(out, rf"(?m)^rank {rank} of {ranks}: [1-9]\d* comparisons agree$")

    def test_keeps_its_order_whoever_does_it(self):
        self.run_ranks(1, "workers.py")

    def test_is_begun_by_several_threads(self):
        self.run_ranks(1, "threads.py")

    def test_refuses_in_words(self):
        self.run_ranks(2, "refusals.py")


if __name__ == "__main__":
    torch_ranks.main()
