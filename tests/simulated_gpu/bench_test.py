# SPDX-License-Identifier: Apache-2.0
"""The command on simulated GPUs: everything that it does with GPUs, where there are none."""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tutti  # noqa: E402

RUNTIME = os.environ.get("SIMULATED_CUDART",
                         str(tutti.ROOT / "build/simulated_gpu/libsimulated_cudart.so"))
CUDA = ("--transport", "cuda", "--baseline", "none", *tutti.QUICK)


def run(*words, ranks=None, gpus=2, **settings):
    """Runs the command with N GPUs, on threads (--ranks in words) or on MPI ranks."""
    settings = {"LD_PRELOAD": RUNTIME, "SIMULATED_GPUS": str(gpus)} | settings
    if ranks is None:
        return tutti.run(*words, **settings)
    return tutti.run_ranks(ranks, *words, **settings)


class OnSimulatedGpus(tutti.Folder):
    def measured(self, *words, **how):
        """The points that were measured in a run that must end well, all of them right."""
        path = self.folder / "points.jsonl"
        path.unlink(missing_ok=True)
        done = run(*words, "--json", path, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        points = [point for point in tutti.points(path) if "skipped" not in point]
        self.assertTrue(points)
        for point in points:
            self.assertEqual(point["check"]["state"], "ok", point["key"])
        return points

    def assert_refused(self, done, *texts, code=64):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        line, = tutti.said(done.stderr)
        for text in texts:
            self.assertIn(text, line)


class Placements(OnSimulatedGpus):
    def test_of_several_ranks_on_a_gpu_are_marked_as_virtual(self):
        points = self.measured("bench", "all_reduce", "--ranks", 4, *CUDA, "--counts", "64,50000", gpus=1)
        self.assertEqual({point["key"]["placement"] for point in points}, {"virtual ranks"})

    def test_of_one_rank_on_each_gpu_are_not(self):
        points = self.measured("bench", "all_reduce", "--ranks", 3, *CUDA, "--counts", "64,50000", gpus=3)
        self.assertEqual({point["key"].get("placement") for point in points}, {None})

    def test_of_more_ranks_than_gpus_use_them_all(self):
        self.measured("bench", "all_to_all", "--ranks", 5, *CUDA, "--counts", "1000,30000", gpus=2)

    @tutti.needs_mpi
    def test_of_processes_reach_each_other(self):
        for collective in ("all_reduce", "all_gather"):
            points = self.measured("bench", collective, *CUDA, "--buffers", "device,unregistered",
                                   "--algo", "ring,butterfly,one-shot", "--counts", "100,50000",
                                   ranks=3, gpus=3)
            self.assertEqual({point["key"]["buf"] for point in points}, {"cuda", "host"})

    @tutti.needs_mpi
    def test_of_processes_that_share_a_gpu_are_refused(self):
        done = run("bench", "all_reduce", *CUDA, "--counts", 8, ranks=2, gpus=1)
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("share", done.stderr)

    def test_are_chosen_by_the_user(self):
        self.measured("bench", "all_reduce", "--ranks", 2, *CUDA, "--counts", 64, gpus=4, TUTTI_GPUS="3,1")


class Calls(OnSimulatedGpus):
    def test_are_on_devices_where_nothing_else_is_asked_for(self):
        for gpus in (1, 4):
            points = self.measured("bench", "all_reduce", "--ranks", 4, "--transport", "cuda", "--algo", "ring",
                                   "--counts", 64, *tutti.QUICK, gpus=gpus)
            self.assertEqual({point["key"]["buf"] for point in points}, {"cuda"})

    def test_have_no_limit_of_the_host(self):
        words = ("bench", "all_reduce", "--ranks", 2, "--transport", "shm,cuda", "--algo", "ring", "--counts", 50000,
                 "--baseline", "none", "--buffers", "device,registered", "--limits", "measure", *tutti.QUICK)
        points = self.measured(*words, XDG_CACHE_HOME=str(self.folder))
        self.assertEqual({(point["key"]["transport"], point["key"]["buf"])
                          for point in points if point.get("limit_ns")}, {("shm", "registered")})

    def test_of_other_methods_are_no_graph(self):
        self.measured("bench", "all_reduce", "--ranks", 2, "--transport", "shm,cuda", "--baseline", "none",
                      "--algo", "ring", "--counts", 64, "--inplace", "no", "--buffers", "device", "-G", 3, "--allow-skips",
                      *tutti.QUICK)
        skipped, = (point for point in tutti.points(self.folder / "points.jsonl") if "skipped" in point)
        self.assertEqual(skipped["key"]["transport"], "shm")
        self.assertIn("-G is not possible", skipped["skipped"])

    # The group's ranks keep the GPUs that they have in the whole world.
    def test_of_a_group_are_right(self):
        done = run("workload", "tensor-parallel", "--ranks", 4, "--tensor-ranks", 2, "--transport", "cuda,shm",
                   "--buffers", "device", "--algo", "ring", "--baseline", "none", "--scale", "small",
                   "--min-steps", 1, "--steps", 1, gpus=4)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_of_every_collective_are_right_on_devices(self):
        for collective in tutti.COLLECTIVES:
            with self.subTest(collective):
                self.measured("bench", collective, "--ranks", 4, *CUDA, "--buffers", "device",
                              "--counts", "3,30000", gpus=1)

    def test_are_repeated_as_a_graph(self):
        plain, graph = (self.measured("bench", "all_reduce", "--ranks", 2, *CUDA, "--algo", "ring", "--inplace", "no",
                                      "--buffers", "device", "--counts", "64,50000", *words)
                        for words in ((), ("-G", 7)))
        for point in plain + graph:
            self.assertGreater(point["device_p50_ns"], 0)

    def test_by_messages_are_staged_through_the_host(self):
        self.measured("bench", "all_reduce", "--ranks", 3, "--transport", "loopback,shm", "--baseline", "none",
                      "--buffers", "device", "--algo", "ring,tree,one-shot", "--counts", "100,600000", *tutti.QUICK)

    @tutti.needs_mpi
    def test_between_processes_are_staged_through_the_host(self):
        self.measured("bench", "all_reduce", "--transport", "mpi,shm", "--baseline", "none", "--buffers", "device",
                      "--algo", "ring,one-shot", "--counts", "100,600000", *tutti.QUICK, ranks=2)


class Trouble(OnSimulatedGpus):
    ONE = ("bench", "all_reduce", "--ranks", 2, *CUDA, "--algo", "ring", "--inplace", "no", "--counts", 5000)

    def test_with_an_unknown_gpu_is_one_line(self):
        self.assert_refused(run(*self.ONE, TUTTI_GPUS="7"), "'7'", "0..1")

    def test_with_too_little_memory_is_one_line(self):
        done = run("bench", "all_reduce", "--ranks", 2, *CUDA, "-b", "64M", "-e", "64M", "--buffers", "device",
                   SIMULATED_GPU_MEMORY="32")
        self.assert_refused(done, "32M bytes free", "smaller messages")

    def test_with_no_gpu_is_one_line(self):
        self.assert_refused(run(*self.ONE, gpus=0), "no GPU here", "no CUDA-capable device")

    def test_with_more_blocks_than_fit_is_one_line(self):
        done = run("bench", "all_reduce", "--ranks", 40, *CUDA, "--algo", "ring", "--counts", 8, gpus=1)
        self.assert_refused(done, "on GPU 0")

    # A block never runs: blocks that wait for it report the rank.
    def test_with_a_block_that_is_lost_names_rank_and_step(self):
        done = run(*self.ONE, "-T", "3s", SIMULATED_GPU_LOSES_BLOCKS_AFTER="21", gpus=1)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"rank 0 .*, step \d .* rank 1\n")

    # Earlier measurements are in the file.
    def test_with_a_gpu_that_fails_ends_and_loses_nothing(self):
        path = self.folder / "points.jsonl"
        done = run("bench", "all_reduce", "--ranks", 2, *CUDA, "--algo", "ring", "--inplace", "no",
                   "--counts", "64,5000,7000", "--json", path, SIMULATED_GPU_FAILS_AFTER="22", gpus=1)
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "illegal memory access")
        self.assertTrue(tutti.records(path))


if __name__ == "__main__":
    unittest.main()
