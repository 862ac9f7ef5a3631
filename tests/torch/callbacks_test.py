# SPDX-License-Identifier: Apache-2.0
"""Callbacks of futures may begin collectives and wait for them."""
import json

import torch_ranks


class Callbacks(torch_ranks.TorchTest):
    def check(self, way, ranks=2):
        return self.run_ranks(ranks, "callbacks.py", way)

    def test_wait_for_collectives_to_any_depth(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual([out.split() for out in self.check("nested", ranks)], [["future", "work", "blocking"]] * ranks)

    def test_that_return_nothing_may_wait(self):
        self.check("done_callbacks")

    def test_of_collected_futures_may_wait(self):
        self.check("collected")

    def test_begin_their_calls_in_one_order(self):
        self.check("in_turn", ranks=3)

    def test_keep_this_order_if_one_rank_is_slow(self):
        self.check("slow", ranks=3)

    def test_that_wait_for_each_other_get_an_error(self):
        self.check("cycle")

    def test_wait_for_later_calls(self):
        self.check("later_calls")

    def test_do_not_run_on_a_waiting_thread(self):
        self.check("waiting_thread")

    def test_that_raise_make_their_future_fail(self):
        self.check("raising")

    def test_end_at_the_timeout_of_the_group(self):
        self.assertEqual(self.check("lost")[0].split(), ["future", "work", "blocking"])

    def test_reuse_threads(self):
        self.check("threads")

    def test_do_not_block_the_end_of_a_program(self):
        self.check("outstanding")
        self.check("destroyed")
        self.assertEqual(self.check("outstanding_cycle"), ["ends\n"] * 2)

    def test_begin_collectives_of_any_kind(self):
        for way in ("chain", "sharded_hook", "ring_of_messages", "other_group", "own_future"):
            for ranks in (1, 3) if way == "chain" else (2, 3):
                with self.subTest(way, ranks=ranks):
                    self.run_ranks(ranks, "future_programs.py", way)

    def test_of_powersgd_train_the_same_weights_as_over_gloo(self):
        over_gloo, over_tutti = ([json.loads(out) for out in self.run_ranks(2, "powersgd.py", way)] for way in ("gloo", "tutti"))
        self.assertEqual(over_tutti[0], over_tutti[1])
        for one, other in zip(over_tutti[0], over_gloo[0], strict=True):
            self.assertAlmostEqual(one, other, delta=1e-4)


if __name__ == "__main__":
    torch_ranks.main()
