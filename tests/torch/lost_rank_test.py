# SPDX-License-Identifier: Apache-2.0
"""If a rank is killed or ends, the other ranks get an error long before the timeout."""
import signal
import time

import torch_ranks


class LostRank(torch_ranks.TorchTest):
    def check_kill_of(self, victim, ranks, way):
        job = torch_ranks.Ranks(self.python, ranks, "endless.py", way)
        try:
            for process in job.processes:
                self.assertEqual(process.stdout.readline(), "ready\n", "" if process.poll() is None else process.stderr.read())
            time.sleep(0.3)
            job.processes[victim].send_signal(signal.SIGKILL)
            ended = job.end(seconds=200)
        finally:
            job.clean_up()
        for rank, (code, _, err) in enumerate(ended):
            if rank == victim:
                self.assertEqual(code, -signal.SIGKILL)
                continue
            self.assertGreater(code, 0, err)
            self.assertRegex(err, r"(TuttiError|RuntimeError).*(rank \d (lost|waits for)|memory of process)")

    def test_is_detected_in_a_collective(self):
        for victim in (0, 1, 2):
            with self.subTest(victim=victim):
                self.check_kill_of(victim, 3, "all_reduce")

    def test_is_detected_in_training(self):
        self.check_kill_of(1, 2, "train")

    def test_is_detected_in_a_message(self):
        self.check_kill_of(0, 2, "message")

    def check_end_of_rank1(self, way, code, words=""):
        job = torch_ranks.Ranks(self.python, 2, "endless.py", way)
        (code0, _, err0), (code1, _, err1) = job.end(seconds=200)
        self.assertEqual((code0, code1), (1, code), err0 + err1)
        self.assertIn(words, err1)
        self.assertRegex(err0, "TuttiError: rank 0 lost rank 1")

    def test_is_detected_after_an_error(self):
        self.check_end_of_rank1("error", 1, "ZeroDivisionError")

    def test_is_detected_after_an_exit(self):
        self.check_end_of_rank1("exit", 3)


if __name__ == "__main__":
    torch_ranks.main()
