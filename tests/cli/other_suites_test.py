# SPDX-License-Identifier: Apache-2.0
"""The programs with the names of nccl-tests and of the OSU micro-benchmarks: their flags, output and exit codes."""
import json
import os
import re
import statistics
import sys
import unittest
from pathlib import Path

import tutti

sys.path.insert(0, str(tutti.ROOT / "tests/golden"))
import golden  # noqa: E402  # pylint: disable=wrong-import-position

FOLDER = Path(tutti.EXECUTABLE).parent
OK, BELOW, WRONG, USAGE = 0, 1, 2, 64
FAST = ("-n", 3, "-w", 0, "--limits", "none")
OSU = ("osu_allreduce", "osu_allgather", "osu_bcast", "osu_reduce", "osu_reduce_scatter", "osu_scatter", "osu_gather", "osu_alltoall",
       "osu_allgatherv", "osu_gatherv", "osu_scatterv", "osu_alltoallv")
CORRUPT = ("--algo", "ring", "--transport", "loopback", "--fault", "corrupt:from=1")


def run(program, *words, **environment):
    return tutti.run(*words, program=FOLDER / program, **environment)


def rows(done):
    """The cells of each row of results."""
    return [line.split() for line in done.stdout.splitlines() if re.match(r" *\d", line)]


def sizes(done):
    return [int(row[0]) for row in rows(done)]


def masked(text):
    return golden.mask_figures(re.sub("by tutti .*", "by tutti VERSION", text))


class Suite(tutti.Folder):
    def refused(self, key, program, *words, **environment):
        self.fails(USAGE, *words, key=key, run=lambda *all_words: run(program, *all_words, **environment))

    def records_of(self, program, *words):
        """The finished run, and its points."""
        self.results.unlink(missing_ok=True)
        done = run(program, *words, "--json", self.results)
        self.assertEqual((done.returncode, done.stderr), (OK, ""), done.stdout)
        return done, tutti.points(self.results)


class NcclTestsTable(Suite):
    def test_has_one_row_for_each_size_and_thirteen_columns(self):
        done, points = self.records_of("all_reduce_perf", "-b", 8, "-e", "1K", "-f", 2, "-g", 2, *FAST)
        self.assertEqual(sizes(done), [8 << i for i in range(8)])
        for row in rows(done):
            self.assertEqual(row[1:5], [str(int(row[0]) // 4), "float", "sum", "-1"])
            self.assertEqual(len(row), 13)
            times = [point["t_ns"]["p50"] for point in points if point["key"]["bytes"] == int(row[0])]
            for side, time in zip((row[5:9], row[9:13]), times):
                us, algbw, busbw, wrong = map(float, side)
                self.assertAlmostEqual(us, time / 1000, delta=0.0051)
                self.assertAlmostEqual(algbw, int(row[0]) / time, delta=0.0051)
                self.assertEqual((busbw, wrong), (algbw, 0))  # 2 (P - 1) / P is 1
        self.assertEqual({point["key"]["algo"] for point in points}, {"auto"})

    def test_has_the_columns_of_nccl_tests_in_the_same_places(self):
        table = run("all_reduce_perf", "-b", 8, "-e", 8, "-g", 2, *FAST).stdout
        names, = (line for line in table.splitlines() if " busbw " in line)
        row, = (line for line in table.splitlines() if line.startswith(" "))
        ends = [12, 26, 36, 44, 52, 61, 69, 77, 85, 94, 102, 110, 118]  # widths 10 12 8 6 6 and 7 6 6 6 twice
        self.assertEqual([match.end() for match in re.finditer(r"[#\w]\w+", names)], ends)
        self.assertEqual([match.end() for match in re.finditer(r"\S+", row)], ends)

    def test_counts_the_bus_bandwidth_of_blocks(self):
        for row in rows(run("all_gather_perf", "-b", "96K", "-e", "96K", "-g", 3, *FAST)):
            self.assertAlmostEqual(float(row[7]), float(row[6]) * 2 / 3, delta=0.011)  # (P - 1) / P

    def test_has_no_empty_cells(self):
        row, = rows(run("all_gather_perf", "-b", 64, "-e", 64, "-g", 2, "-c", 0, "--inplace", "no", *FAST))
        self.assertEqual((row[3:5], row[8:]), (["none", "-1"], ["N/A"] * 5))

    def test_ends_as_scripts_expect(self):
        done = run("broadcast_perf", "-b", 8, "-e", 64, "-f", 2, "-g", 2, *FAST)
        busbw = [float(row[place]) for row in rows(done) for place in (7, 11)]
        average = re.search(r"^# Out of bounds values : 0 OK\n# Avg bus bandwidth    : ([\d.e+-]+)\n", done.stdout, re.M)
        self.assertAlmostEqual(float(average[1]), sum(busbw) / len(busbw), delta=0.0051)

    def test_has_the_fastest_of_several_candidates(self):
        done, points = self.records_of("all_reduce_perf", "-b", "64", "-e", "64K", "-f", 32, "-g", 2, "--algo", "ring,linear",
                                       "--transport", "shm", "-n", 30)
        self.assertEqual(sizes(done), [64, 2048, 65536])
        for row in rows(done):
            of_row = [point for point in points if point["key"]["bytes"] == int(row[0]) and not point["key"]["inplace"]]
            self.assertEqual(len(of_row), 2)
            self.assertAlmostEqual(float(row[5]), min(point["t_ns"]["p50"] for point in of_row) / 1000, delta=0.0051)

    def test_has_the_variation_of_calls_with_per_iter_timing(self):
        done, points = self.records_of("all_reduce_perf", "-b", "1K", "-e", "1K", "-g", 2, "-n", 20, "-I", 1, "--raw")
        row, = rows(done)
        self.assertEqual(len(row), 5 + 2 * 8)
        for cells, point in zip((row[9:13], row[17:21]), points):
            samples = [sample / 1000 for sample in point["samples_ns"]]
            mean = sum(samples) / len(samples)
            deviation = (sum((sample - mean) ** 2 for sample in samples) / len(samples)) ** 0.5
            self.assertAlmostEqual(float(cells[0]), min(samples), delta=0.0051)
            self.assertAlmostEqual(float(cells[1]), max(samples), delta=0.0051)
            self.assertAlmostEqual(float(cells[2]), max(samples), delta=0.0051)  # the 99th percentile of 20 calls is the slowest
            self.assertAlmostEqual(float(cells[3]), 100 * deviation / mean, delta=0.0051)


class NcclTestsFlags(Suite):
    def test_have_the_defaults_of_nccl_tests(self):
        self.assertEqual(sizes(run("all_reduce_perf", "-g", 2, *FAST)), [32 << 20])
        self.assertEqual(sizes(run("all_reduce_perf", "-b", "1M", "-e", "3M", "-g", 2, *FAST)), [1 << 20, 2 << 20, 3 << 20])
        self.assertEqual(sizes(run("all_reduce_perf", "-b", 8, "-e", 24, "-f", 1, "-i", 8, *FAST)), [8, 16, 24])

    def test_are_parsed_as_by_getopt_and_by_param(self):
        for words in (("-b", 8, "-e", 32, "-f", 2), ("-b8", "-e32", "-f2"), ("--b", 8, "--e", 32, "--f", 2), ("--b=8", "--e=32", "--f=2"),
                      ("--minbytes", 8, "--maxbytes=32", "--stepfactor", 2)):
            with self.subTest(words):
                self.assertEqual(sizes(run("all_reduce_perf", *words, *FAST)), [8, 16, 32])

    def test_of_threads_and_gpus_are_ranks(self):
        _, points = self.records_of("all_reduce_perf", "-b", 8, "-e", 8, "-g", 2, "-t", 2, *FAST)
        self.assertEqual({point["key"]["nranks"] for point in points}, {4})
        self.refused("--ranks", "all_reduce_perf", "-g", 2, "--ranks", 2)
        self.refused("-g 0", "all_reduce_perf", "-g", 0)

    @tutti.needs_mpi
    def test_of_threads_are_refused_if_processes_are_ranks(self):
        done = tutti.run("1", FOLDER / "all_reduce_perf", "-b", 8, "-e", 8, "-g", 2, program=tutti.MPI_RUN)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("2 processes", done.stderr)

    @tutti.needs_mpi
    def test_work_on_mpi_ranks(self):
        done = tutti.run("2", FOLDER / "alltoall_perf", "-b", 8, "-e", 64, "-f", 2, "-g", 1, *FAST, program=tutti.MPI_RUN)
        self.assertEqual((done.returncode, sizes(done)), (OK, [8, 16, 32, 64]), done.stderr)

    def test_of_blocks_of_different_lengths_are_those_of_all_to_all(self):
        for program, blocks, factor in (("alltoallv_perf", "skewed", 2 / 3), ("sendrecv_perf", "next", 1)):
            done, points = self.records_of(program, "-b", "96K", "-e", "96K", "-g", 3, *FAST)
            row, = rows(done)
            self.assertEqual((row[0], row[8:]), (str(96 << 10), ["0"] + ["N/A"] * 4))  # neither runs in place
            self.assertAlmostEqual(float(row[7]), float(row[6]) * factor, delta=0.011)
            self.assertEqual([(point["key"]["coll"], point["key"]["blocks"]) for point in points], [("all_to_all", blocks)])

    def test_have_their_meaning(self):
        def key(*words):
            return self.records_of("reduce_perf", "-b", 8, "-e", 8, "-g", 2, *FAST, *words)[1]
        self.assertEqual({point["key"]["root"] for point in key("-r", -1)}, {0, 1})
        self.assertEqual({point["key"]["buf"] for point in key("-R", 0)}, {"host"})
        self.assertEqual({point["key"]["buf"] for point in key("-R", 2)}, {"registered"})
        self.assertEqual({point["mode"] for point in key("-z", 1)}, {"barrier"})
        self.assertEqual({point["key"]["op"] for point in key("-o", "all")}, {"sum", "prod", "min", "max", "avg"})
        self.assertEqual({point["key"]["dtype"] for point in key("-d", "half")}, {"half"})

    def test_without_effect_are_reported_once(self):
        values = {"a": 1, "m": 2, "N": 2, "p": 1, "y": 1, "C": 1, "S": 1, "x": 1, "D": 1, "V": 8, "M": 1, "u": 1, "K": 1}
        words = [word for flag, value in values.items() for word in (f"-{flag}", value)]
        done = run("all_reduce_perf", "-b", 8, "-e", 8, *FAST, *words)
        self.assertEqual((done.returncode, sizes(done)), (OK, [8]), done.stderr)
        self.assertEqual([line.split()[1:3] for line in tutti.said(done.stderr)], [[f"-{flag}", str(value)] for flag, value in values.items()])

    def test_with_their_default_are_not_reported(self):
        words = "-a 3 -m 1 -N 1 -p 0 -y 0 -C 0 -S 0 -R 1 -x 0 -D 0 -V 16 -M 0 -u 0 -I 0 -K 0 -G 0 -z 0 -T 0 -g 1 -t 1".split()
        done = run("all_reduce_perf", "-b", 8, "-e", 8, *FAST, *words)
        self.assertEqual((done.returncode, done.stderr, sizes(done)), (OK, "", [8]))

    def test_that_are_wrong_are_refused_in_a_line(self):
        self.refused("mulsum", "all_reduce_perf", "-o", "mulsum")
        self.refused("'-Q'", "all_reduce_perf", "-Q")
        self.refused("-b needs", "all_reduce_perf", "-b")
        link = self.folder / "hypercube_perf"
        link.symlink_to(os.path.realpath(tutti.EXECUTABLE))
        self.refused("all_reduce_perf", link, "-b", 8)
        self.refused("--buffers", "all_reduce_perf", "--buffers", "registered,unregistered")

    def test_are_in_the_help(self):
        done = run("all_reduce_perf", "--help")
        self.assertEqual(done.returncode, OK)
        for letter in "tgbeifnmwNpIKcodrzyThGCaRxDVJSMu":  # the flags of nccl-tests
            self.assertRegex(done.stdout, rf"(?m)^  -{letter},--\w+ ")


class NcclTestsExitCode(Suite):
    def test_is_2_for_wrong_results(self):
        done = run("all_reduce_perf", "-b", "4K", "-e", "4K", "-g", 4, *CORRUPT, *FAST)
        self.assertEqual(done.returncode, WRONG)
        self.assertRegex(done.stdout, r"(?m)^# Out of bounds values : [1-9]\d* FAILED$")
        self.assertGreater(int(rows(done)[0][8]), 0)

    def test_is_1_for_too_little_bandwidth(self):
        """Nine tenths of NCCL_TESTS_MIN_BW are enough. The points are those of an interrupted run, which is resumed."""
        file = self.folder / "r.jsonl"
        run("all_reduce_perf", "-b", 64, "-e", 256, "-f", 2, "-g", 2, *FAST, "--json", file)
        points = tutti.points(file)
        average = sum(point["busbw_GBps"] for point in points) / len(points)
        for asked, verdict, code in ((1.1, "OK", OK), (1.12, "FAILED", BELOW)):
            lines = [line for line in file.read_text().splitlines() if '"kind":"end"' not in line]
            copy = self.file("interrupted.jsonl", "\n".join(lines) + "\n")
            done = tutti.run("bench", "--resume", copy, NCCL_TESTS_MIN_BW=str(asked * average))
            self.assertRegex(done.stdout, rf"(?m)^# Avg bus bandwidth    : \S+ {verdict}$")
            self.assertEqual((done.returncode, len(rows(done))), (code, 3), done.stderr)

    @tutti.needs_mpi
    def test_is_1_for_too_little_bandwidth_on_mpi_ranks_too(self):
        for ranks in (1, 3):
            file = self.folder / f"{ranks}.jsonl"
            done = tutti.run_ranks(ranks, "bench", "all_reduce", "--like", "nccl-tests", "-b", 64, "-e", 64, *FAST, "--json", file,
                                   NCCL_TESTS_MIN_BW="1000000")
            self.assertEqual(done.returncode, BELOW, done.stderr)
            self.assertRegex(done.stdout, r"(?m)^# Avg bus bandwidth    : \S+ FAILED$")
            self.assertEqual(tutti.said(done.stderr), [])
            self.assertEqual(tutti.records(file)[-1]["kind"], "end")

    def test_is_64_for_a_bandwidth_that_is_not_a_number(self):
        self.refused("NCCL_TESTS_MIN_BW=12 GB/s", "all_reduce_perf", NCCL_TESTS_MIN_BW="12 GB/s")


class NcclTestsJson(Suite):
    def write(self, *words, **environment):
        file = self.folder / "x.json"
        done = run("reduce_scatter_perf", "-b", 64, "-e", 256, "-f", 2, "-g", 2, *FAST, "-J", file, *words, **environment)
        self.assertEqual(done.returncode, OK, done.stderr)
        return done, json.loads(file.read_text(encoding="utf-8"))

    def test_has_the_fields_of_version_3(self):
        done, report = self.write()
        self.assertEqual(list(report), ["version", "start_time", "args", "env", "nccl_version", "config", "results",
                                        "out_of_bounds", "average_bus_bandwidth", "end_time", "errors"])
        config = report["config"]
        self.assertEqual((report["version"], config["minimum_bytes"], config["maximum_bytes"], config["step_factor"],
                          config["iterations"], config["validation"], len(config["devices"])), (3, 64, 256, 2, 3, 1, 2))
        self.assertRegex(report["start_time"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        self.assertEqual((report["out_of_bounds"], report["errors"]), ({"count": 0, "okay": "true"}, []))
        self.assertEqual(report["average_bus_bandwidth"]["okay"], "unchecked")
        for row, result in zip(rows(done), report["results"], strict=True):
            self.assertEqual([str(result[name]) for name in ("size", "count", "type", "redop", "root")], row[:5])
            for side, cells in (("out_of_place", row[5:9]), ("in_place", row[9:13])):
                values = [result[side][name] for name in ("time", "alg_bw", "bus_bw", "nwrong")]
                self.assertEqual([f"{value:.2f}" for value in values[:3]] + [str(values[3])], cells)

    def test_has_the_verdict_on_the_bandwidth(self):
        self.assertEqual(self.write(NCCL_TESTS_MIN_BW="0")[1]["average_bus_bandwidth"]["okay"], "true")

    def test_has_the_calls_with_per_iter_timing(self):
        _, report = self.write("-I", 1)
        for result in report["results"]:
            for side in ("out_of_place_per_iter", "in_place_per_iter"):
                times = result[side]["times_us"]
                self.assertEqual((len(times), min(times), max(times)), (3, result[side]["min_us"], result[side]["max_us"]))
                self.assertEqual([result[side][f"{name}_us"] for name in ("p50", "p95", "p99")], [sorted(times)[1], max(times), max(times)])
                mean, deviation = statistics.mean(times), statistics.pstdev(times)
                for name, value in (("avg_us", mean), ("stdev_us", deviation), ("cv_pct", 100 * deviation / mean)):
                    self.assertAlmostEqual(result[side][name], value, delta=1e-6 * mean + 1e-6, msg=name)

    def test_does_not_replace_a_file(self):
        self.write()
        before = (self.folder / "x.json").read_text()
        done, _ = self.write()
        self.assertIn(f"{self.folder / 'x.json'}.0\n", done.stdout)
        self.assertEqual((self.folder / "x.json").read_text(), before)
        self.assertEqual(json.loads((self.folder / "x.json.0").read_text())["version"], 3)

    def test_has_null_for_values_that_were_not_measured(self):
        _, report = self.write("-c", 0, "--inplace", "no")
        self.assertEqual({(result["out_of_place"]["nwrong"], result["in_place"]) for result in report["results"]}, {(None, None)})

    def test_has_only_known_variables_of_the_environment(self):
        _, report = self.write(NCCL_DEBUG="WARN", SOME_TOKEN="secret")
        self.assertIn("NCCL_DEBUG=WARN", report["env"])
        self.assertNotIn("secret", json.dumps(report))

    def test_must_be_writable(self):
        self.refused("x.json", "all_reduce_perf", "-b", 8, "-e", 8, "-J", self.folder / "none" / "x.json")


class Osu(Suite):
    def test_prints_the_heading_of_osu_and_rows_and_nothing_else(self):
        texts = []
        for program in OSU:
            with self.subTest(program):
                done = run(program, "-m", 16, "-i", 3, "-x", 0, "--ranks", 2)
                self.assertEqual((done.returncode, done.stderr), (OK, ""))
                first = 2 if program == "osu_reduce_scatter" else 1  # a byte for each rank
                self.assertEqual(sizes(done), [size for size in (1, 2, 4, 8, 16) if size >= first])
                texts.append(f"$ {program}{masked(done.stdout)}")
        golden.expect(self, "cli/osu_tables.txt", "".join(texts))

    def test_counts_sizes_as_osu_does(self):
        """The block of one rank; for reductions and broadcasts the whole vector."""
        for program in OSU:
            with self.subTest(program):
                done, points = self.records_of(program, "-m", "12:24", "-T", "mpi_int", "-i", 3, "--ranks", 3)
                blocks = 1 if program in ("osu_allreduce", "osu_reduce", "osu_bcast", "osu_reduce_scatter") else 3
                self.assertEqual(sizes(done), [12, 24])
                self.assertEqual([point["key"]["bytes"] for point in points], [12 * blocks, 24 * blocks])

    def test_has_a_barrier_without_sizes(self):
        done, points = self.records_of("osu_barrier", "-i", 5, "-f", "--ranks", 3, "--raw")
        golden.expect(self, "cli/osu_barrier_table.txt", masked(done.stdout))
        self.assertEqual([(point["key"]["coll"], point["key"]["bytes"], point["check"]["state"]) for point in points], [("barrier", 0, "ok")])
        self.assertAlmostEqual(float(rows(done)[0][0]), sum(points[0]["samples_ns"]) / len(points[0]["samples_ns"]) / 1000, delta=0.0051)

    @tutti.needs_mpi
    def test_measures_the_barrier_of_the_library(self):
        file = self.folder / "r.jsonl"
        done = tutti.run("2", FOLDER / "osu_barrier", "-i", 5, "-c", "--baseline", "mpi", "--json", file, program=tutti.MPI_RUN)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual([(point["key"]["impl"], point["check"]["state"]) for point in tutti.points(file)], [("mpi", "ok")])
        self.assertEqual(rows(done)[0][1], "Pass")

    def test_prints_no_progress(self):
        """Scripts may have stderr in the same file."""
        done = run("osu_allreduce", "-m", "4:8", "-i", 3, "-x", 2, "--ranks", 2, "--algo", "ring", "--transport", "loopback",
                   "--fault", "delay:ms=400")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))

    def test_has_the_mean_of_the_calls(self):
        done, points = self.records_of("osu_allreduce", "-m", "65536:1048576", "-i", 20, "--ranks", 2, "--raw")
        for row, point in zip(rows(done), points, strict=True):
            self.assertAlmostEqual(float(row[1]), sum(point["samples_ns"]) / len(point["samples_ns"]) / 1000, delta=0.0051)

    def test_has_more_columns_when_asked(self):
        done, points = self.records_of("osu_allgather", "-m", "8:8", "-i", 21, "-fc", "-z50,100", "--ranks", 2, "--raw")
        golden.expect(self, "cli/osu_full_table.txt", masked(done.stdout))
        (row,), (point,) = rows(done), points
        samples = sorted(sample / 1000 for sample in point["samples_ns"])
        for cell, value in zip((row[2], row[3], row[6], row[7]), (samples[0], samples[-1], samples[10], samples[-1])):
            self.assertAlmostEqual(float(cell), value, delta=0.0051)
        self.assertEqual((row[4], row[5]), (str(21 * point.get("calls_of_sample", 1)), "Pass"))

    def test_has_the_default_percentiles(self):
        self.assertRegex(run("osu_bcast", "-m", 4, "-i", 3, "-z").stdout, "P50 .* P90 .* P99 ")

    def test_takes_both_ends_of_the_sizes(self):
        for words, expected in (("4:16", [4, 8, 16]), (":2", [1, 2]), ("524288:", [1 << 19, 1 << 20])):
            self.assertEqual(sizes(run("osu_allreduce", "-m", words, "-i", 1, "-x", 0)), expected)

    def test_fails_for_wrong_results(self):
        done = run("osu_allreduce", "-m", "4096:4096", "-c", "-i", 3, "--ranks", 4, *CORRUPT)
        self.assertEqual((done.returncode, rows(done)[0][2]), (WRONG, "Fail"))
        self.assertIn("\nDATA VALIDATION ERROR: ", done.stdout)

    @tutti.needs_mpi
    def test_measures_the_library_on_mpi_ranks(self):
        file = self.folder / "r.jsonl"
        done = tutti.run("2", FOLDER / "osu_bcast", "-m", "8:8", "-i", 5, "--baseline", "mpi", "-k", "fixed:1", "--json", file,
                         program=tutti.MPI_RUN)
        self.assertEqual((done.returncode, sizes(done)), (OK, [8]), done.stderr)
        self.assertEqual([(point["key"]["impl"], point["key"]["root"]) for point in tutti.points(file)], [("mpi", 1)])

    def test_refuses_in_a_line(self):
        for key, *words in (("mpi_char", "-T", "all"), ("-k fixed:0", "-k", "rotate"), ("-d cuda", "-d", "rocm"), ("some", "-m", "some"),
                            ("p101", "-z101"), ("--inplace", "--inplace", "both")):
            self.refused(key, "osu_bcast", *words)
        self.refused("-m 2", "osu_gather", "-T", "mpi_int", "-m", 2)
        link = self.folder / "osu_latency"
        link.symlink_to(os.path.realpath(tutti.EXECUTABLE))
        self.refused("osu_allreduce", link)

    def test_is_an_option_of_bench_too(self):
        done = tutti.run("bench", "broadcast", "--like", "osu,full", "--inplace", "no", "--algo", "auto", "--baseline", "none", "-b", 8,
                         "-e", 8, "--ranks", 2, *FAST)
        self.assertEqual((done.returncode, len(rows(done)), len(rows(done)[0])), (OK, 1, 5), done.stderr)
        self.assertIn("MPI_FLOAT", done.stdout)


if __name__ == "__main__":
    unittest.main()
