# SPDX-License-Identifier: Apache-2.0
"""NCCL between GPUs that threads of the host stand for: right results, one rank for each GPU, and
what the program makes of everything that can go wrong there. Not NCCL itself: nothing here is a figure."""
import json
import os
import re
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

import tutti  # noqa: E402
from job import Job, wait_until  # noqa: E402
from tutti import COLLECTIVES, QUICK  # noqa: E402

TIME_OUT, RANK_LOST, USAGE = 4, 5, 64

BUILT = tutti.ROOT / "build/simulated_gpu"
PRELOAD = os.environ.get("SIMULATED_GPUS_BY", f"{BUILT}/libsimulated_cudart.so:{BUILT}/libsimulated_nccl.so")


def preload(version=""):
    """The simulated GPUs with NCCL 2.28.9, or with another version: "2_31"."""
    return PRELOAD.replace("simulated_nccl.so", f"simulated_nccl_{version}.so") if version else PRELOAD


TRANSPORT = ("--transport", "nccl", "--baseline", "none")
BASELINE = ("--algo", "none", "--baseline", "nccl")
BOTH = ("--transport", "nccl", "--baseline", "nccl")
ON_GPUS = ("--buffers", "device", *QUICK)
NOT_IN_NCCL = ("barrier", "scan", "exscan")


class OnSimulatedGpus(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "r.jsonl"

    def bench(self, ranks, collective, *words, gpus=4, mpi=False, fail="", version="", **environment):
        """On threads, or on processes."""
        self.file.unlink(missing_ok=True)
        environment |= {"LD_PRELOAD": preload(version), "SIMULATED_GPUS": str(gpus), "SIMULATED_NCCL_FAIL": fail}
        words = ("bench", collective, *words, *ON_GPUS, "--json", self.file)
        return tutti.run_ranks(ranks, *words, **environment) if mpi else \
            tutti.run(*words, "--ranks", ranks, **environment)

    def points(self, *words, **how):
        """The points of a run without any error, in which NCCL was never misused."""
        done = self.bench(*words, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("simulated", done.stderr)
        points = tutti.points(self.file)
        for point in points:
            self.assertTrue(point.get("skipped") or point["check"]["state"] == "ok", point)
        return points

    def one_line(self, done, code):
        """The last line of the run's errors; no file of it remains in shared memory."""
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("simulated", done.stderr)
        line, = tutti.said(done.stderr)
        return line

    def assert_all_run(self, points, *names):
        self.assertEqual([point["skipped"] for point in points if "skipped" in point], [])
        self.assertLessEqual(set(names), {point["key"]["transport"] or point["key"]["impl"] for point in points})


class Results(OnSimulatedGpus):
    def test_of_every_collective_and_algorithm_are_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                methods = TRANSPORT if collective in NOT_IN_NCCL else BOTH
                points = self.points(4, collective, *methods, "--counts", "0,1,1001", "-r", 3, "--inplace", "no")
                self.assert_all_run(points, "nccl")
                has_own = "" in {point["key"]["algo"] for point in points}
                self.assertEqual(has_own, collective not in NOT_IN_NCCL)

    def test_in_place_are_right(self):
        for collective in COLLECTIVES:
            with self.subTest(collective):
                points = self.points(3, collective, *BOTH, "--counts", 1001, "--inplace", "yes", "--allow-skips")
                skipped = {point["skipped"] for point in points if "skipped" in point and
                           point["key"]["impl"] == "nccl"}
                self.assertEqual(len(skipped), collective in (*NOT_IN_NCCL, "all_to_all"), skipped)

    def test_of_every_type_and_operation_of_nccl_are_right(self):
        points = self.points(2, "all_reduce", *BOTH, "--algo", "ring", "--inplace", "no", "--counts", 1001,
                             "-d", "all", "-o", "all")
        skipped = {point["key"]["dtype"] for point in points if "skipped" in point}
        self.assertEqual(skipped, {"int16", "uint16"})

    def test_of_large_messages_are_right(self):
        for collective in ("all_reduce", "all_to_all"):
            with self.subTest(collective):
                self.assert_all_run(self.points(2, collective, *BOTH, "--counts", 300000, "--inplace", "no"))

    @tutti.needs_mpi
    def test_of_processes_are_right(self):
        for collective, ranks in (("all_reduce", 3), ("all_to_all", 2), ("gather", 3)):
            with self.subTest(collective):
                self.assert_all_run(self.points(ranks, collective, *BOTH, "--counts", "1,1001", "-r", 1, "--inplace",
                                                "no", mpi=True))


BARRIER = """\
{"schema":"gradtrace/1","form":"lines","kind":"ops","model":"barrier","world":2}
{"line":"op","rank":0,"op":"all_reduce","count":100}
{"line":"op","rank":0,"op":"barrier"}
{"line":"op","rank":1,"op":"all_reduce","count":100}
{"line":"op","rank":1,"op":"barrier"}
{"line":"end","lines":6}
"""


class Workloads(OnSimulatedGpus):
    def test_with_barriers_use_those_of_tutti(self):
        done = tutti.run("workload", "replay", tutti.Folder.file(self, "barrier.jsonl", BARRIER), "--ranks", 2, "--buffers", "device",
                         *BASELINE, "-n", 2, "--min-steps", 1, "-w", 0, "--json", self.file,
                         LD_PRELOAD=PRELOAD, SIMULATED_GPUS="2", SIMULATED_NCCL_FAIL="")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        steps = [record for record in tutti.records(self.file) if record["kind"] == "step"]
        self.assertEqual({step["check"]["state"] for step in steps}, {"ok"})


class Plugin(OnSimulatedGpus):
    """NCCL's algorithms by libtutti_nccl.so: forced, and by a table."""
    PLUGIN = str(Path(tutti.EXECUTABLE).with_name("libtutti_nccl.so"))

    def calls(self):
        """Returns the choices that NCCL's profiler saw on rank 0, by collective and bytes."""
        found = {}
        for line in map(json.loads, (self.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()):
            if line["event"] == "call" and line["rank"] == 0:
                choice = "-".join(map(str, (line["algorithm"], line["protocol"], line["channels"])))
                found.setdefault((line["collective"], line["bytes"]), set()).add(choice)
        return found

    def profiled(self):
        return {"NCCL_PROFILER_PLUGIN": self.PLUGIN, "TUTTI_NCCL_CALLS": str(self.folder / "calls.jsonl")}

    @tutti.needs_mpi
    def test_forces_algorithms_in_one_launch(self):
        names = ("", "tree-ll128-4", "ring-simple", "ring-ll-1", "nvls-simple", "collnet-direct-simple")
        baselines = ",".join(f"nccl/{name}" if name else "nccl" for name in names)
        points = self.points(2, "all_reduce", "--algo", "none", "--baseline", baselines, "--counts", "1000", "-r", 2, "--inplace", "no", "--allow-skips",
                             mpi=True, **self.profiled())
        reasons = {point["key"]["algo"]: point.get("skipped", "") for point in points}
        self.assertEqual({name for name, reason in reasons.items() if not reason}, set(names[:4]))
        for name in names[4:]:
            self.assertIn(f"NCCL cannot use {name}", reasons[name])
        # The default has the least cost: here a tree by LL on 2 channels.
        self.assertEqual(self.calls()["all_reduce", 4000], {"tree-ll128-4", "ring-simple-2", "ring-ll-1", "tree-ll-2"})

    def test_forces_nothing_for_ranks_that_are_threads(self):
        points = self.points(2, "all_reduce", "--algo", "none", "--baseline", "nccl,nccl/ring-ll", "--counts", 10, "--inplace", "no",
                             "--allow-skips")
        skipped = {point["key"]["algo"]: point["skipped"] for point in points if "skipped" in point}
        self.assertEqual(list(skipped), ["ring-ll"])
        self.assertIn("process", skipped["ring-ll"])

    @tutti.needs_mpi
    def test_makes_nccl_follow_a_tuned_table(self):
        table = self.folder / "table.json"
        environment = {"LD_PRELOAD": PRELOAD, "SIMULATED_GPUS": "2", "SIMULATED_NCCL_FAIL": ""}
        done = tutti.run_ranks(2, "tune", "all_reduce", "--algo", "none", "--baseline", "nccl,nccl/ring-simple-1,nccl/tree-ll-4",
                               "--buffers", "device", "-b", "4K", "-e", "64K", "-f", 16, "--model", "none", "--hold-out", "no",
                               "--budget", "10s", "--table", table, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tuned = json.loads(table.read_text(encoding="utf-8"))
        ranges = tuned["sections"][0]["ranges"]
        for one, name in zip(ranges, ("ring-simple-1", "tree-ll-4", "ring-simple-1")):  # whichever was the fastest
            one["choice"] = {"impl": "nccl", "algorithm": name}
        table.write_text(json.dumps(tuned), encoding="utf-8")
        self.points(2, "all_reduce", *BASELINE, "-b", "4K", "-e", "64K", "-f", 16, "-r", 2, "--inplace", "no", mpi=True,
                    NCCL_TUNER_PLUGIN=self.PLUGIN, TUTTI_NCCL_TABLE=str(table), **self.profiled())
        for size in (4096, 65536):
            expected = [one["choice"]["algorithm"] for one in ranges if one["from"] <= size][-1]
            self.assertEqual(self.calls()["all_reduce", size], {expected})


class Logged(OnSimulatedGpus):
    def ran(self, collective, *words, **how):
        """Returns the points by algorithm, and what NCCL itself says that rank 0 ran, by collective and bytes."""
        log = self.folder / "ran.txt"
        log.unlink(missing_ok=True)
        points = self.points(2, collective, "--algo", "none", *words, "-r", 0, "--inplace", "no", "--allow-skips", SIMULATED_NCCL_LOG=str(log), **how)
        found = {}
        for line in log.read_text(encoding="utf-8").splitlines():
            version, rank, name, size, *choice = line.split()
            if rank == "0":
                found.setdefault((name, int(size)), set()).add((version, "-".join(choice)))
        return {point["key"]["algo"]: point for point in points}, found


class Versions(Logged):
    """NCCL's algorithms are forced by the settings of each call (from 2.31.2 on), by the plugin, or by the environment (before 2.22)."""

    def test_settings_of_calls_force_algorithms(self):
        """Also of ranks that are threads."""
        names = ("", "tree-ll128-4", "ring-simple", "ring-ll-1", "nvls-simple", "collnet-direct-simple")
        baselines = ",".join(f"nccl/{name}" if name else "nccl" for name in names)
        points, ran = self.ran("all_reduce", "--baseline", baselines, "--counts", 1000, version="2_31")
        self.assertEqual({name for name, point in points.items() if "skipped" not in point}, set(names[:4]))
        for name in names[4:]:
            self.assertIn(f"NCCL cannot use {name}", points[name]["skipped"])
        self.assertEqual(ran["AllReduce", 4000], {("23102", choice) for choice in
                                                  ("TREE-LL128-4", "RING-SIMPLE-2", "RING-LL-1", "TREE-LL-2")})

    def test_settings_of_calls_force_algorithms_of_every_collective(self):
        for collective, name, size in (("all_reduce", "AllReduce", 1200), ("reduce_scatter", "ReduceScatter", 2400),
                                       ("all_gather", "AllGather", 2400), ("broadcast", "Broadcast", 1200), ("reduce", "Reduce", 1200)):
            with self.subTest(collective):
                _, ran = self.ran(collective, "--baseline", "nccl/ring-ll128-4", "--counts", 300, version="2_31")
                self.assertEqual(ran[name, size], {("23102", "RING-LL128-4")})
        _, ran = self.ran("all_gather", "--baseline", "nccl/pat-simple", "--counts", 300, version="2_31")
        self.assertEqual(ran["AllGather", 2400], {("23102", "PAT-SIMPLE-2")})

    def test_an_algorithm_that_one_rank_cannot_use_is_used_by_none(self):
        points, ran = self.ran("all_reduce", "--baseline", "nccl,nccl/ring-ll,nccl/tree-ll", "--counts", 1000, version="2_31", fail="choice:1")
        self.assertEqual({name for name, point in points.items() if "skipped" in point}, {"ring-ll", "tree-ll"})
        self.assertEqual(ran["AllReduce", 4000], {("23102", "TREE-LL-2")})

    @tutti.needs_mpi
    def test_the_environment_forces_algorithms_of_old_versions(self):
        points, ran = self.ran("all_reduce", "--baseline", "nccl,nccl/tree-ll128-4,nccl/ring-simple,nccl/nvls-tree-simple", "--counts", 1000,
                               version="2_21", mpi=True)
        self.assertEqual({name for name, point in points.items() if "skipped" in point}, {"nvls-tree-simple"})
        self.assertEqual(ran["AllReduce", 4000], {("22105", choice) for choice in ("TREE-LL-2", "TREE-LL128-4", "RING-SIMPLE-2")})

    @tutti.needs_mpi
    def test_records_have_what_nccl_ran(self):
        points, _ = self.ran("all_reduce", "--baseline", "nccl,nccl/ring-simple,nccl/tree-ll128-4", "--counts", 1000, mpi=True)
        self.assertEqual({name: point.get("choice") for name, point in points.items()},
                         {"": "tree-ll-2", "ring-simple": "ring-simple-2", "tree-ll128-4": None})

    def test_records_of_threads_have_what_nccl_ran(self):
        points, _ = self.ran("all_gather", "--baseline", "nccl", "--counts", 1000, version="2_31")
        self.assertEqual(points[""]["choice"], "ring-ll-2")


class TwoLibraries(Logged):
    """NCCL 2.28.9, with which the command is linked, next to another version."""

    def other(self, version):
        return str(Path(preload(version).split(":")[1]))

    def test_run_in_alternation_in_one_process(self):
        points, ran = self.ran("all_reduce", "--baseline", "nccl", "--other-nccl", self.other("2_31"), "--counts", 1000)
        self.assertEqual({version for version, _ in ran["AllReduce", 4000]}, {"22809", "23102"})
        self.assertEqual(points[""]["key"]["impl"], "nccl-other")  # the last one
        measured = {point["key"]["impl"]: point["n"] for point in tutti.points(self.file)}
        self.assertEqual(measured, {"nccl": 1, "nccl-other": 1})
        launch, = (record for record in tutti.records(self.file) if record["kind"] == "launch")
        self.assertEqual(launch["nccl"]["settings"]["other"], f"2.31.2, {self.other('2_31')}")

    @tutti.needs_mpi
    def test_force_algorithms_in_their_own_ways(self):
        for version, number in (("2_31", "23102"), ("2_21", "22105")):
            with self.subTest(version):
                _, ran = self.ran("all_reduce", "--baseline", "nccl,nccl/ring-simple,nccl-other,nccl-other/tree-ll128-4", "--other-nccl",
                                  self.other(version), "--counts", 1000, mpi=True)
                self.assertEqual(ran["AllReduce", 4000], {("22809", "TREE-LL-2"), ("22809", "RING-SIMPLE-2"),
                                                          (number, "TREE-LL-2"), (number, "TREE-LL128-4")})

    def test_need_a_library(self):
        for file in ("/nowhere/libnccl.so.2", str(Path(PRELOAD.split(":")[0]))):
            line = self.one_line(self.bench(2, "all_reduce", *BASELINE, "--other-nccl", file, "--counts", 1), USAGE)
            self.assertIn("libnccl" if "nowhere" in file else "ncclGetVersion", line)
        line = self.one_line(self.bench(2, "all_reduce", "--algo", "none", "--baseline", "nccl-other", "--counts", 1), USAGE)
        self.assertIn("--other-nccl FILE", line)


class Refusals(OnSimulatedGpus):
    def refused(self, *words, **how):
        done = self.bench(*words, **how)
        self.one_line(done, USAGE)
        reason, = {point["skipped"] for point in tutti.points(self.file)}
        return reason

    def test_two_ranks_on_one_gpu_are_refused_with_the_reason(self):
        for method in (TRANSPORT, BASELINE):
            self.assertIn("ranks 0 and 2", self.refused(3, "all_reduce", *method, "--counts", 1, gpus=2))

    def test_fp8_is_reduced_where_all_gpus_can(self):
        for gpus in ("98", "89", "88"):
            with self.subTest(gpus):
                reason = self.refused(2, "all_reduce", *BASELINE, "-d", "fp8_e4m3", "--counts", 1,
                                      SIMULATED_GPU_CAPABILITIES=gpus)
                self.assertIn("compute capability 9.0", reason)

    def test_what_nccl_cannot_join_is_refused_in_its_words(self):
        for fail, says in (("init", "ncclCommInitRankConfig: unhandled system error"),
                           ("id", "ncclGetUniqueId: unhandled system error")):
            for method in (TRANSPORT, BASELINE):
                with self.subTest(fail):
                    self.assertIn(says, self.refused(2, "all_reduce", *method, "--counts", "1,2", fail=fail))

    def test_what_one_rank_finds_out_all_know(self):
        self.assertIn("rank 1: NCCL failed in ncclCommInitRankConfig",
                      self.refused(3, "all_reduce", *BOTH, "--counts", 1, fail="init:1"))

    def test_a_communicator_that_is_never_ready_is_done_without(self):
        self.assertEqual(self.refused(2, "all_reduce", *BOTH, "--counts", 1, "--timeout", 1, fail="missed:1"),
                         "rank 0 waited 1 s in NCCL, ncclCommInitRankConfig")

    def check_rest_of_sweep(self, **how):
        done = self.bench(2, "all_reduce", "--transport", "all", "--baseline", "all", "--algo", "ring", "--counts",
                          "1,1001", "--inplace", "no", fail="init", **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(re.findall("^# transport nccl .*NCCL failed", done.stdout, re.M)), 1)
        self.assertEqual(len(re.findall("^# baseline nccl .*NCCL failed", done.stdout, re.M)), 1)
        points = [point for point in tutti.points(self.file) if "skipped" not in point]
        self.assertEqual(sum(point["key"]["transport"] == "shm" for point in points), 2)
        self.assertEqual(tutti.records(self.file)[-1]["kind"], "end")

    def test_the_rest_of_a_sweep_is_measured_without_nccl(self):
        self.check_rest_of_sweep()

    @tutti.needs_mpi
    def test_the_rest_of_a_sweep_of_processes_is_measured_without_nccl(self):
        self.check_rest_of_sweep(mpi=True)


class Ends(OnSimulatedGpus):
    # Every rank receives N elements in every step.
    def end_of(self, ranks, *words, fail, code, **how):
        line = self.one_line(self.bench(ranks, "all_reduce", *words, "--counts", "1001", "--inplace", "no",
                                        "--timeout", 1, fail=fail, **how), code)
        failed = tutti.records(self.file)[-1]
        self.assertEqual(failed["kind"], "fail")
        return line

    def test_an_error_beside_the_host_ends_the_run_in_nccls_words(self):
        for method, what in (((*TRANSPORT, "--algo", "ring"), r"messages of step \d+ .* [01]"),
                           (BASELINE, r"NCCL's own all_reduce with rank [01]")):
            with self.subTest(what):
                self.assertRegex(self.end_of(2, *method, fail="async:1", code=RANK_LOST),
                                 rf"rank [01]: NCCL failed in {what}: .*: socketProgress")

    def test_a_rank_that_does_nothing_is_named_with_the_step(self):
        self.assertRegex(self.end_of(2, *TRANSPORT, "--algo", "ring", fail="absent:1", code=TIME_OUT),
                         r"rank (0 .*, step 0 .* 1|1 .*, step 0 .* 0)$")
        self.assertRegex(self.end_of(3, *TRANSPORT, "--algo", "ring", fail="absent:1", code=TIME_OUT),
                         r"\(nccl\), step \d of 4, for .* \d$")

    def test_a_library_call_without_end_is_named(self):
        self.assertRegex(self.end_of(2, *BASELINE, fail="absent:1", code=TIME_OUT),
                         r"NCCL's own all_reduce with rank [01]$")

    def test_what_nccl_never_begins_is_named(self):
        self.assertRegex(self.end_of(2, *TRANSPORT, "--algo", "ring", fail="stuck:1", code=TIME_OUT),
                         r"in NCCL, .* step 1 .* [01]$")
        self.assertRegex(self.end_of(2, *BASELINE, fail="stuck:1", code=TIME_OUT),
                         r"in NCCL, .* all_reduce .* [01]$")

    @tutti.needs_mpi
    def test_a_process_that_does_not_answer_is_named(self):
        job = Job(self.file, *TRANSPORT, "--algo", "ring", "--buffers", "device", "--counts", "1,1000000",
                  "--inplace", "no", "-c", 0, "-n", 2000, "-w", 0, "-T", "1s",
                  LD_PRELOAD=PRELOAD, SIMULATED_GPUS="2")
        self.addCleanup(job.clean_up)
        job.wait_for_points(1)
        busy_since = job.ranks[0].cpu_seconds()
        wait_until(lambda: job.ranks[0].cpu_seconds() - busy_since > 0.2, "the second point is under way")
        job.ranks[1].kill(signal.SIGSTOP)
        self.assertEqual(job.end(seconds=15), TIME_OUT, job.stderr())
        wait, stop = job.said()
        self.assertRegex(wait, r"^tutti: rank 0 .* rank 1$")
        self.assertIn("SIGSTOP", stop)
        wait_until(lambda: not job.left_behind(), "all processes and shared files are gone", seconds=10)


if __name__ == "__main__":
    unittest.main()
