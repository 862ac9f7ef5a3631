# SPDX-License-Identifier: Apache-2.0
"""Checks the trace of 'bench --timeline': each lane shows the actions of one rank with their times."""
import json
import unittest

import tutti
from tutti import QUICK

RANKS = 3
ROUNDING = 0.001  # in us: times are whole ns


class Timeline(tutti.Folder):
    def trace(self, *words, run=lambda *words: tutti.run(*words, "--ranks", RANKS)):
        file = self.folder / "timeline.json"
        done = run("bench", "all_reduce", *words, "--counts", 60, "--inplace", "no", *QUICK, "--timeline", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(file.read_text(encoding="utf-8"))["traceEvents"]

    def of_rank(self, events, rank, category):
        return [event for event in events if event["ph"] == "X" and event["tid"] == rank and event["cat"] == category]

    def assert_in_order_within(self, inner, outer):
        """Each ends before the next one begins, and lies in one of `outer`."""
        for event, following in zip(inner, inner[1:]):
            self.assertLessEqual(event["ts"] + event["dur"], following["ts"] + ROUNDING)
        for event in inner:
            self.assertTrue(any(whole["ts"] - ROUNDING <= event["ts"] and
                                event["ts"] + event["dur"] <= whole["ts"] + whole["dur"] + ROUNDING
                                for whole in outer), event)

    def check_lanes(self, events, calls):
        lanes = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertEqual(lanes, {rank: f"rank {rank}" for rank in range(RANKS)})
        self.assertEqual({event["pid"] for event in events}, {0})
        self.assertEqual({event["tid"] for event in events}, set(range(RANKS)))
        for rank in range(RANKS):
            whole = self.of_rank(events, rank, "call")
            self.assertEqual([event["name"] for event in whole], calls)
            self.assert_in_order_within(whole, whole)
            steps = self.of_rank(events, rank, "step")
            self.assert_in_order_within(steps, whole)
            within = sorted(self.of_rank(events, rank, "wait") + self.of_rank(events, rank, "move"),
                            key=lambda event: event["ts"])
            self.assert_in_order_within(within, steps)
            self.assertTrue(all(event["ts"] >= 0 and event["dur"] > 0 for event in events if event["ph"] == "X"))

    def test_has_a_lane_for_each_rank_with_the_steps_of_its_schedule(self):
        events = self.trace("--algo", "ring,tree", "--transport", "loopback,shm", "--baseline", "none")
        call = "all_reduce 240 float sum registered, "
        self.check_lanes(events, [call + name for name in ("ring (loopback)", "ring (shm)", "tree (loopback)",
                                                           "tree (shm)")])
        for rank in range(RANKS):
            first, second, *_ = self.of_rank(events, rank, "call")
            before = (rank - 1) % RANKS
            expected = [f"step {step}: {action} from rank {before}, 80"
                        for step, action in enumerate(("add", "add", "copy", "copy"))]
            for one in (first, second):  # chunks of 20 floats go around the ring
                names = [step["name"] for step in self.of_rank(events, rank, "step")
                         if one["ts"] - ROUNDING / 2 <= step["ts"] < one["ts"] + one["dur"] - ROUNDING / 2]
                self.assertEqual([name for name in names if name.startswith("step")], expected)

    def test_shows_who_waits_for_a_late_message(self):
        late = 100_000  # us
        events = self.trace("--algo", "ring", "--transport", "loopback", "--baseline", "none",
                            "--fault", f"delay:ms={late // 1000},from=1,step=2")
        self.check_lanes(events, ["all_reduce 240 float sum registered, ring (loopback)"])
        sent, = (step["ts"] for step in self.of_rank(events, 1, "step") if step["name"].startswith("step 2:"))
        step, = (step for step in self.of_rank(events, 2, "step") if step["name"].startswith("step 2:"))
        # Half a ns off, as the sum of two numbers need not be the third one to the last bit.
        within = (step["ts"] - ROUNDING / 2, step["ts"] + step["dur"] - ROUNDING / 2)
        waits = [wait for wait in self.of_rank(events, 2, "wait") if within[0] <= wait["ts"] < within[1]]
        wait, = waits
        self.assertGreaterEqual(wait["ts"] + wait["dur"], sent + late - ROUNDING)
        self.assertGreater(wait["dur"], late / 2)

    def test_of_a_library_has_the_call_alone(self):
        if reason := tutti.mpi_missing():
            self.skipTest(reason)
        events = self.trace("--algo", "none", "--baseline", "mpi", run=lambda *words: tutti.run_ranks(RANKS, *words))
        for rank in range(RANKS):
            call, = (event for event in events if event["ph"] == "X" and event["tid"] == rank)
            self.assertEqual((call["cat"], call["name"].split(", ")[1]), ("call", "mpi"))


if __name__ == "__main__":
    unittest.main()
