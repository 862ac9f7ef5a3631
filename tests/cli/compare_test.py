# SPDX-License-Identifier: Apache-2.0
"""tutti compare: verdicts on programs whose times are known, and on jobs that are measured in turns."""
import collections
import os
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import tutti
from job import wait_until

OK, SLOWER, WRONG, UNDECIDED, TIME_OUT, USAGE = 0, 1, 2, 3, 4, 64
DECIDED_OR_NOT = (OK, UNDECIDED)  # a budget may end before there are enough launches
THREADS = ("--threads", "--quads", 2)
BENCH = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none", "--counts", "16",
         "--inplace", "no", "--sync", "barrier")
CALL, PLACE = "all_reduce 64 float sum registered ring (shm)", ", 2 ranks"


def prints(*times):
    """A program that prints a line 'SIZE TIME' for each time."""
    return "; ".join(f"echo {1 << i} {time}" for i, time in enumerate(times))


def says(*words):
    """A program that prints a line."""
    return " ".join(map(str, ("echo", *words)))


def verdicts(done):
    """By the names of metrics, as the table has them."""
    return dict(re.findall(r"^  (\S.*?)  +[-+.\d].* (slower|faster|same|undecided)$", done.stdout, re.M))


def processes(command):
    return subprocess.run(["pgrep", "-f", f"^{command}"], capture_output=True, text=True, check=False).stdout.split()


class OfPrograms(tutti.Folder):
    def compare(self, a, b, *words, metric=r"^(\d+) (\S+)"):
        return tutti.run("compare", "--program-a", a, "--program-b", b, "--metric", metric, *words)

    def expect(self, code, found, a, b, *words, **more):
        """Compares two programs; the exit code and the verdicts must be these."""
        done = self.compare(a, b, *words, **more)
        self.assertEqual((done.returncode, verdicts(done)), (code, found), done.stdout + done.stderr)
        return done

    def test_a_slower_program_fails(self):
        self.expect(SLOWER, {"1": "same", "2": "slower", "geometric mean": "undecided"}, prints(100, 200), prints(100, 210))

    def test_a_faster_one_does_not(self):
        self.expect(OK, {"1": "faster"}, prints(100), prints(80))
        self.expect(SLOWER, {"1": "faster"}, prints(100), prints(80), "--fail-on", "faster")

    def test_higher_rates_are_faster(self):
        self.expect(OK, {"1": "faster"}, prints(100), prints(120), "--rate")

    def test_a_rate_is_shown_in_its_own_unit_and_direction(self):
        a, b = says("step", 25.1, "images/s"), says("step", 21.9, "images/s")
        metric = r"(\w+) ([0-9.]+)"
        done = self.expect(SLOWER, {"step": "slower"}, a, b, "--json", self.results, metric=metric)
        self.assertRegex(done.stdout, r"A \(images/s\) .*\n  step +25.1 +21.9 +-12.7 %  -12.7 % ")
        verdict, = tutti.of_kind(self.results, "verdict")
        self.assertAlmostEqual(verdict["ratio"], 21.9 / 25.1)
        self.assertEqual({one["higher_is_better"] for one in tutti.of_kind(self.results, "pair")} | {verdict["higher_is_better"]}, {True})
        self.assertTrue(all(one["est"] < 0 for one in tutti.of_kind(self.results, "pair")))
        self.expect(OK, {"step": "faster"}, a, b, "--rate=false", metric=metric)
        self.expect(SLOWER, {"1": "slower"}, prints(25.1), prints(21.9), "--rate")
        self.expect(SLOWER, {"1": "slower"}, prints(25.1), prints(21.9), "--unit", "images/s")

    def test_numbers_without_a_unit_may_get_one(self):
        done = self.expect(SLOWER, {"1": "slower"}, prints(100), prints(120), "--unit", "ms", "--write", "junit=-")
        self.assertIn('name="1" classname="tutti.compare" time="0.120000000"', done.stdout)
        self.fails(USAGE, "compare", "--program-a", "true", "--program-b", "true", "--metric", "(.)", "--unit", "parsec", key="'parsec'")

    def test_the_time_of_a_whole_run_is_a_metric(self):
        counts = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done; sleep %g"
        times = ("--min-effect", "20%", "--budget", "40s")
        self.expect(SLOWER, {"cpu_time": "slower"}, counts % (10_000, 0), counts % (40_000, 0), *times, metric="cpu_time")
        self.expect(SLOWER, {"wall_time": "slower"}, counts % (1, 0.02), counts % (1, 0.1), *times, metric="wall_time")
        self.compare(counts % (1, 0.1), counts % (1, 0.1), "--budget", "2s", "--metric", "wall_time", "--json", self.results,
                     metric="cpu_time")
        times = {one["metric"]: (one["a_ns"], one["b_ns"]) for one in tutti.of_kind(self.results, "pair")}
        self.assertGreater(min(times["wall_time"]), 0.1e9)
        self.assertLess(max(times["cpu_time"]), 0.1e9)  # it slept

    def test_the_smallest_change_can_be_set(self):
        self.expect(OK, {"1": "same"}, prints(100), prints(102))
        self.expect(SLOWER, {"1": "slower"}, prints(100), prints(102), "--min-effect", "1%")

    def test_a_program_that_differs_from_itself_is_undecided(self):
        log = self.file("log", "")  # the n-th run takes as long in every test
        noisy = f"n=$(wc -l < {log}); echo >> {log}; echo 1 $((1 + n * n * 7919 % 101))"
        self.expect(UNDECIDED, {"1": "undecided"}, noisy, noisy, "--fail-on", "slower,undecided", "--budget", "3s")
        done = self.compare(noisy, noisy, "--fail-on", "none", "--budget", "3s", "--json", self.results, "--write", "github=-")
        self.assertEqual(done.returncode, OK)
        self.assertRegex(done.stdout, r"(?m)^# undecided: 1: .*\d %.*use ")
        self.assertRegex(done.stdout, r"(?m)^::warning title=tutti compare::1 is undecided: ")
        verdict, = tutti.of_kind(self.results, "verdict")
        self.assertIn(verdict["to_decide"], done.stdout)
        self.assertIn("**Undecided:** 1: ", tutti.run("compare", "--from", self.results, "--write", "markdown=-").stdout)

    def test_cpu_time_is_recommended_for_noisy_times_of_programs_that_compute(self):
        log = self.folder / "log"
        counts = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        for work, is_said in ((counts, True), ("sleep 0.1", False)):
            log.write_text("")
            noisy = f"{work}; n=$(wc -l < {log}); echo >> {log}; echo 1 $((1 + n * n * 7919 % 101)) ms"
            done = self.compare(noisy, noisy, "--budget", "4s")
            self.assertIn("\n# undecided: 1: ", done.stdout)
            self.assertEqual("--metric cpu_time" in done.stdout, is_said, done.stdout)

    def test_too_few_launches_for_a_verdict_fail(self):
        done = self.compare("sleep 0.1; echo 1 1", "sleep 0.1; echo 1 2", "--budget", "1s")
        self.assertEqual(done.returncode, UNDECIDED, done.stdout)
        self.assertIn("--budget", tutti.said(done.stderr)[0])

    def test_many_metrics_can_be_slower_at_the_same_time(self):
        done = self.compare(prints(*[100] * 60), prints(*[120] * 60), "--budget", "30s")
        self.assertEqual((done.returncode, set(verdicts(done).values())), (SLOWER, {"slower"}), done.stdout)

    def test_programs_start_in_turns(self):
        log = self.folder / "log"
        self.compare(f"echo A >> {log}; {prints(100)}", f"echo B >> {log}; {prints(100)}")
        order = log.read_text().replace("\n", "")
        self.assertEqual(order, "ABBABAAB" * (len(order) // 8))

    def test_numbers_are_found_in_json_and_by_a_single_group(self):
        self.expect(SLOWER, {"/a/0/t": "slower"}, """echo '{"a": [{"t": 5}]}'""", """echo '{"a": [{"t": 6}]}'""", metric="/a/0/t")
        done = self.compare("echo took 5 ms", "echo took 5 ms", metric=r"took (\S+) ms")
        self.assertEqual(list(verdicts(done).values()), ["same"], done.stdout + done.stderr)

    def test_units_are_kept_and_times_are_in_ns(self):
        file = self.folder / "r.jsonl"
        on_stderr = r"printf '50%%\rtime\040\033[1m1,000.0\033[0m\040us\r\n' >&2"
        a = "; ".join((on_stderr, says("rate", "2,000", "MB/s"), says("plain", 7)))
        b = "; ".join((says("time", 1.5, "ms"), says("rate", 2, "GB/s"), says("plain", 7)))
        done = self.expect(SLOWER, {"time": "slower", "rate": "same", "plain": "same", "geometric mean": "slower"}, a, b,
                           "--json", file, "--budget", "20s", "--write", "csv=-", metric=r"^(\w+) ([0-9.,]+)")
        found = {one["metric"]: one for one in tutti.of_kind(file, "verdict")}
        self.assertEqual([(found[name]["a_ns"], found[name]["b_ns"], found[name].get("unit", "ns")) for name in ("time", "rate", "plain")],
                         [(1e6, 1.5e6, "ns"), (2000, 2000, "MB/s"), (7, 7, "")])
        self.assertEqual({one["metric"]: one.get("unit", "ns") for one in tutti.of_kind(file, "pair")},
                         {"time": "ns", "rate": "MB/s", "plain": ""})
        self.assertRegex(done.stdout, r"(?m)^  time +1 ms +1.5 ms")
        self.assertRegex(done.stdout, r"(?m)^  rate +2000 MB/s +2000 MB/s")
        self.assertRegex(done.stdout, r'(?m)^"rate",.*,"MB/s",2000,2000,1,""$')
        case = tutti.run("compare", "--from", file, "--write", "junit=-").stdout
        self.assertIn('name="time" classname="tutti.compare" time="0.001500000"', case)
        self.assertRegex(case, "1.5 ms .* 1 ms")

    def test_units_of_different_kinds_drop_their_metric(self):
        done = self.expect(OK, {"2": "same"}, says(1, 5, "ms; echo", 2, 5), says(1, 5, "GB/s; echo", 2, 5))
        self.assertRegex(done.stdout, "# not compared: 1: .*GB/s")

    def test_lines_that_are_too_long_are_said_to_be_skipped(self):
        long = says("x" * 5000) + "; " + prints(5)
        done = self.expect(OK, {"1": "same"}, long, prints(5))
        self.assertEqual(done.stderr.count("4096 bytes"), 1, done.stderr)

    def test_a_star_in_a_pointer_matches_each_entry(self):
        self.expect(SLOWER, {"/a/0/t": "slower", "/a/1/t": "same", "geometric mean": "slower"}, """echo '{"a": [{"t": 5}, {"t": 7}]}'""",
                    """echo '{"a": [{"t": 6}, {"t": 7}]}' >&2""", metric="/a/*/t")

    def test_lines_of_one_name_are_numbered(self):
        self.expect(SLOWER, {"1": "same", "1 (2)": "slower", "geometric mean": "slower"}, "echo 1 100; echo 1 100", "echo 1 100; echo 1 200")

    def test_the_environment_may_differ(self):
        self.expect(SLOWER, {"1": "slower"}, "echo 1 $TIME", "echo 1 $TIME", "--env-a", "TIME=10", "--env-b", "TIME=20")

    def test_a_program_that_fails_is_wrong_and_its_last_lines_are_printed(self):
        done = self.compare(prints(100), prints(10) + "; seq 30 >&2; exit 3")
        self.assertEqual(done.returncode, WRONG, done.stdout)
        self.assertTrue(done.stderr.endswith("".join(f"\n  {line}" for line in range(11, 31)) + "\n"), done.stderr)
        self.assertRegex(tutti.said(done.stderr)[0], "^tutti: B .* 3")

    def test_a_metric_of_one_program_is_named(self):
        done = self.expect(OK, {"1": "same"}, prints(100, 100), prints(100))
        self.assertIn("# not compared: 2: ", done.stdout)

    def test_a_number_that_cannot_be_compared_drops_its_metric(self):
        for number in ("inf", "nan", "-inf", "1e999", "-5", "0.000", "1e-320", "N/A"):
            with self.subTest(number):
                done = self.expect(UNDECIDED, {}, prints(number), prints(1))
                self.assertRegex(done.stdout, f"# not compared: 1: .*'{number}'")
                self.assertEqual(len(tutti.said(done.stderr)), 1)
        self.expect(UNDECIDED, {}, """echo '{"t": 1e999, "u": 0, "w": 5}'""", """echo '{"t": 1, "u": 1, "w": 5}'""", "--metric", "/u",
                    "--metric", "/w", metric="/t")
        done = self.expect(SLOWER, {"2": "slower"}, prints(0, 100), prints(1, 110))
        self.assertIn("# not compared: 1: ", done.stdout)
        done = tutti.run("compare", "--program-a", "echo 1 0", "--metric", r"^(\d+) (\S+)", "--aa", 20)
        self.assertEqual(done.returncode, UNDECIDED, done.stdout + done.stderr)

    def test_a_metric_that_is_sometimes_unusable_is_dropped(self):
        """From the n-th run on: in the first launch, later in the first stage, in the second."""
        runs = self.folder / "runs"
        for first in (2, 20, 60):
            for text in ("echo 2 0.000", ":", "echo 2 N/A"):
                with self.subTest(first=first, text=text):
                    runs.write_text("")
                    program = f"echo >>{runs}; echo 1 100; if [ $(wc -l <{runs}) -ge {first} ]; then {text}; else echo 2 %d; fi"
                    done = self.expect(OK, {"1": "same"}, program % 5, program % 6, "--json", self.folder / f"{first}{len(text)}.jsonl")
                    self.assertIn("\n# not compared: 2: ", done.stdout)

    def test_a_program_that_hangs_is_killed_with_its_children(self):
        hangs = "sleep 62.75 & echo waits; sleep 62.75; echo 1 1"
        for a, b, name, words in ((hangs, prints(1), "A", ("--budget", "4s")), (prints(1), hangs, "B", ("--run-timeout", "1s")),
                                  (prints(1), "sleep 0.2;" + hangs, "B", ("--budget", "4s", "--run-timeout", "50s"))):
            with self.subTest(name=name, words=words):
                began = time.monotonic()
                done = self.compare(a, b, *words)
                self.assertEqual(done.returncode, TIME_OUT, done.stdout + done.stderr)
                line, = tutti.said(done.stderr)
                self.assertRegex(line, rf"^tutti: {name} .*waits$")  # with its last line
                self.assertLess(time.monotonic() - began, 45 * tutti.PATIENCE)  # --run-timeout alone is 50 s or no limit
                self.assertEqual(processes("sleep 62.75"), [])

    def test_a_later_run_may_take_a_multiple_of_those_before(self):
        runs = self.folder / "runs"
        done = self.compare(f"echo >>{runs}; test $(wc -l <{runs}) -lt 9 || sleep 61.5; echo 1 1", prints(1))
        self.assertEqual(done.returncode, TIME_OUT, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"A did not .* 10\.0 s")
        self.assertNotIn("--budget", done.stderr)  # it did not limit this run

    def test_a_first_launch_longer_than_the_budget_is_cut_short(self):
        done = self.expect(UNDECIDED, {}, "sleep 2; echo 1 1", "sleep 2; echo 1 1", "--budget", "1s", "--quads", 20)
        self.assertIn("compared: all metrics: ", done.stdout)

    def test_the_rule_that_decided_is_explained(self):
        done = self.compare(prints(100), prints(110), "--explain", "1")
        self.assertIn("# 1: slower, because", done.stdout)
        self.assertIn("12 launches of stage 2", done.stdout)
        self.assertEqual(self.compare(prints(100), prints(110), "--explain", "no such").returncode, USAGE)

    def test_everything_is_kept_in_records(self):
        file = self.folder / "new/r.jsonl"
        self.compare(prints(100, 100), prints(100, 110), "--json", file)
        records = tutti.records(file)
        self.assertEqual([records[at]["kind"] for at in (0, 1, -1)], ["session", "launch", "end"])
        of_stage = collections.Counter((pair["metric"], pair.get("stage", 1)) for pair in tutti.of_kind(file, "pair"))
        self.assertEqual(of_stage, {("1", 1): 7, ("2", 1): 7, ("2", 2): 12})
        self.assertIn("12 launches of stage 2", tutti.run("compare", "--from", file, "--explain", "2").stdout)  # only those decided
        slower = next(record for record in records if record.get("verdict") == "slower")
        self.assertEqual((slower["metric"], slower["n_launch"], slower["stage"]), ("2", 12, 2))
        self.assertAlmostEqual(slower["ratio"], 1.1)
        self.assertEqual(tutti.run("report", file, "-o", self.folder / "r.html").returncode, OK)
        self.assertIn('id="comparisons"', (self.folder / "r.html").read_text(encoding="utf-8"))

    def test_an_interrupted_comparison_is_resumed(self):
        file, runs = self.results, self.folder / "runs"
        words = ("compare", "--program-a", f"echo >>{runs}; test $(wc -l <{runs}) != 33 || kill -INT $PPID; {prints(100)}",
                 "--program-b", prints(110), "--metric", r"^(\d+) (\S+)", "--quads", 2)
        done = tutti.run(*words, "--json", file)
        self.assertEqual(done.returncode, 130, done.stdout + done.stderr)
        self.assertIn(f"--resume {file}", done.stderr)
        self.assertEqual(len(tutti.said(tutti.run("compare", "--from", file).stderr)), 1)  # it has no end
        done = tutti.run(*words, "--resume", file)
        self.assertEqual(verdicts(done), {"1": "slower"}, done.stdout + done.stderr)
        # Four runs of A in each of 7 launches, and 12 of a second stage; one launch was cut short at its first.
        self.assertEqual(len(runs.read_text()), 4 * 19 + 1)
        self.assertIn("# 1: slower", tutti.run("compare", "--from", file, "--explain", "1").stdout)
        self.fails(USAGE, *words, "--resume", file, key="nothing to resume")

    def test_another_comparison_is_not_resumed(self):
        words = ("compare", "--program-a", "kill -INT $PPID; echo 1 1", "--program-b", "echo 1 1", "--metric", "(.) (.)")
        self.assertEqual(tutti.run(*words, "--json", self.results).returncode, 130)
        self.fails(USAGE, *words, "--rate", "--resume", self.results, key="'' for --rate")

    def test_views_are_written_for_other_programs(self):
        file, junit = self.results, self.folder / "ci/junit.xml"
        done = self.compare(prints(100, 100), prints(100, 110), "--json", file, "--write", f"junit={junit}", "--write", "csv=-")
        self.assertEqual(done.returncode, SLOWER, done.stdout + done.stderr)
        cases = xml.etree.ElementTree.parse(junit).getroot().findall("testsuite/testcase")
        self.assertEqual({case.get("name"): [child.tag for child in case] for case in cases}, {"1": [], "2": ["failure"]})
        self.assertIn('"2",slower,1.1,', done.stdout)
        again = tutti.run("compare", "--from", file, "--write", "markdown=-")
        self.assertEqual(again.returncode, SLOWER, again.stderr)
        self.assertIn("| 2 | 100 | 110 |", again.stdout)
        self.assertEqual(tutti.run("compare", "--from", file, "--fail-on", "faster").returncode, OK)

    def test_ctrl_c_ends_the_programs_too(self):
        with subprocess.Popen([tutti.EXECUTABLE, "compare", "--program-a", "exec sleep 61.25", "--program-b", "true",
                               "--metric", "(.*)"], stderr=subprocess.PIPE, text=True, env=tutti.CLEAN) as process:
            wait_until(lambda: processes("sleep 61.25"), "the program runs")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        wait_until(lambda: not processes("sleep 61.25"), "the program has ended")


class OfJobs(tutti.Folder):
    def compare(self, *words, bench=BENCH):
        return tutti.run("compare", *THREADS, *words, *bench, timeout=150)

    def test_ctrl_c_leaves_no_folder(self):
        words = [str(word) for word in ("compare", *THREADS, "--budget", "60s", *BENCH)]
        with subprocess.Popen([tutti.EXECUTABLE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=tutti.CLEAN | {"TMPDIR": str(self.folder)}) as process:
            wait_until(lambda: os.listdir(self.folder), "there is a folder")
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        wait_until(lambda: not os.listdir(self.folder), "the folder is gone")

    def test_two_jobs_are_measured_in_turns(self):
        done = self.compare("--budget", "3s", "--fail-on", "none", "--json", self.results)
        self.assertIn(done.returncode, DECIDED_OR_NOT, done.stdout + done.stderr)
        pairs = tutti.of_kind(self.results, "pair")
        self.assertGreaterEqual(len(pairs), 1)
        for pair in pairs:
            self.assertEqual((pair["metric"], len(pair["quads"])), (CALL + PLACE, 2))
            self.assertGreater(pair["a_ns"], 0)

    @tutti.needs_mpi
    def test_each_job_of_mpi_ranks_has_a_temporary_folder_of_its_own(self):
        seen = self.folder / "seen"
        program = self.file("tutti", f'#!/bin/sh\ntest -d "$TMPDIR" && echo "$TMPDIR" >>{seen}\nexec {tutti.EXECUTABLE} "$@"\n')
        program.chmod(0o755)
        done = tutti.run("compare", program, "--quads", 2, "--budget", "4s", "--fail-on", "none", *BENCH, timeout=150)
        self.assertIn(done.returncode, DECIDED_OR_NOT, done.stdout + done.stderr)
        self.assertEqual(len(verdicts(done)), 1, done.stdout)
        folders = collections.Counter(seen.read_text(encoding="utf-8").split())
        self.assertGreater(len(folders), 1)
        self.assertEqual(set(folders.values()), {2})  # the ranks of a job share one
        self.assertFalse([one for one in folders if Path(one).exists()])
        seen.write_text("", encoding="utf-8")
        # Ranks of another launcher may be on hosts where there is no such folder.
        tutti.run("compare", program, "--launcher", "env", "--quads", 2, "--budget", "2s", *BENCH, "--ranks", 2)
        self.assertNotIn("tutti-", seen.read_text(encoding="utf-8"))

    def test_settings_that_differ_share_a_line(self):
        bench = BENCH[:3] + BENCH[5:]
        done = self.compare("--words-a", "--algo ring", "--words-b", "--algo butterfly", "--budget", "3s",
                            "--fail-on", "none", bench=bench)
        self.assertEqual(list(verdicts(done)), [f"{CALL} -> butterfly (shm){PLACE}"], done.stdout)

    def test_wrong_results_end_it_at_once(self):
        bench = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none",
                 "--counts", "16,64", "--inplace", "no", "--sync", "barrier")
        results = self.folder / "wrong.jsonl"
        done = self.compare("--words-b", "--fault corrupt", "--json", results, bench=bench)
        self.assertEqual(done.returncode, WRONG, done.stdout + done.stderr)
        self.assertIs(tutti.records(results)[-1]["ok"], False)
        self.assertIn("# WRONG: B: ", done.stdout)
        self.assertIn(" 1 launches of both", done.stdout)

    def test_a_named_algorithm_that_cannot_run_is_refused(self):
        bench = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "shm,mpi", "--baseline", "none",
                 "--counts", "16", "--inplace", "no")
        self.fails(USAGE, "compare", *THREADS, "--budget", "3s", *bench, key="--transport mpi")
        done = self.compare("--budget", "3s", "--fail-on", "none", bench=(*bench, "--allow-skips"))
        self.assertIn(done.returncode, DECIDED_OR_NOT, done.stdout + done.stderr)
        self.assertIn("# not compared: " + CALL.replace("shm", "mpi"), done.stdout)

    def test_the_step_that_grew_is_named(self):
        done = tutti.run("compare", *THREADS, "--ranks", 3, "--words-b", "--fault delay:ms=2,step=2", "--attribute",
                         "--json", self.results, "--budget", "60s", "--", "bench", "all_reduce", "--algo", "ring",
                         "--transport", "loopback", "--baseline", "none", "--counts", "30", "--inplace", "no",
                         "--sync", "barrier", timeout=150)
        self.assertEqual(done.returncode, SLOWER, done.stdout + done.stderr)
        times, = tutti.of_kind(self.results, "step_growth")
        self.assertIn("step 2 of 4", done.stdout)
        self.assertEqual([len(times[name]) for name in ("a_ns", "b_ns", "grew_ns")], [5, 5, 5])
        self.assertEqual(times["grew_ns"].index(max(times["grew_ns"])), 2)

    def test_calls_that_differ_are_not_compared(self):
        bench = tuple(word for word in BENCH if word not in ("--counts", "16"))
        done = self.compare("--words-a", "--counts 16", "--words-b", "--counts 32", bench=bench)
        self.assertEqual((done.returncode, len(tutti.said(done.stderr))), (UNDECIDED, 1), done.stdout)

    def test_a_job_that_does_not_measure_is_named(self):
        self.assertEqual(self.compare(bench=(*BENCH, "--no-such-option")).returncode, USAGE)
        done = self.compare(tutti.EXECUTABLE, "/bin/true")
        self.assertEqual(done.returncode, UNDECIDED, done.stdout)
        self.assertRegex(tutti.said(done.stderr)[0], "^tutti: B ")

    def test_a_against_itself_counts_false_alarms(self):
        done = self.compare("--aa", 12)
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"# \d false alarms in 1 ")
        self.assertIn(CALL, done.stdout.splitlines()[-1])
        change, effect = re.search(r"a change of (\S+) % .* --min-effect (\S+)% ", done.stdout.splitlines()[-1]).groups()
        self.assertAlmostEqual(float(change) / float(effect), 2, delta=0.2)
        self.assertRegex(done.stdout, rf"{re.escape(CALL + PLACE)} +\S+ % +\d +\S+ % +-( +\d+){{2}}\n")


if __name__ == "__main__":
    unittest.main()
