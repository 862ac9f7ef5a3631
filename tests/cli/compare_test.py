# SPDX-License-Identifier: Apache-2.0
"""tutti compare: verdicts on programs whose times are known, and on jobs that measure by turns."""
import collections
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path

import tutti

OK, SLOWER, WRONG, UNDECIDED, TIME_OUT, USAGE = 0, 1, 2, 3, 4, 64
UNSURE = (OK, UNDECIDED)  # a budget may end before there are launches enough
THREADS = ("--threads", "--quads", 2)
BENCH = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "shm", "--baseline", "none", "--counts", "16",
         "--inplace", "no", "--sync", "barrier")


def prints(*times):
    """A program that prints so many lines: 'size TIME'."""
    return "; ".join(f"echo {1 << i} {time}" for i, time in enumerate(times))


def verdicts(done):
    """By the names of metrics, as the table has them."""
    return dict(re.findall(r"^  (\S.*?)  +[-+.\d].* (slower|faster|same|undecided)$", done.stdout, re.M))


class OfPrograms(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compare(self, a, b, *words, metric=r"^(\d+) (\S+)"):
        return tutti.run("compare", "--program-a", a, "--program-b", b, "--metric", metric, *words)

    def test_a_slower_program_fails(self):
        done = self.compare(prints(100, 200), prints(100, 210))
        self.assertEqual(done.returncode, SLOWER, done.stdout + done.stderr)
        self.assertEqual(verdicts(done), {"1": "same", "2": "slower", "geometric mean": "undecided"})
        self.assertIn("+5.0 %", done.stdout)

    def test_a_faster_one_does_not(self):
        done = self.compare(prints(100), prints(80))
        self.assertEqual((done.returncode, verdicts(done)), (OK, {"1": "faster"}), done.stdout)
        self.assertEqual(self.compare(prints(100), prints(80), "--fail-on", "faster").returncode, SLOWER)

    def test_of_rates_more_is_faster(self):
        self.assertEqual(verdicts(self.compare(prints(100), prints(120), "--rate")), {"1": "faster"})

    def test_what_counts_as_a_change_can_be_said(self):
        self.assertEqual(verdicts(self.compare(prints(100), prints(102))), {"1": "same"})
        self.assertEqual(verdicts(self.compare(prints(100), prints(102), "--min-effect", "1%")), {"1": "slower"})

    def test_what_differs_from_itself_is_undecided(self):
        log = self.folder / "log"  # the n-th run takes as long in every test
        log.touch()
        noisy = f"n=$(wc -l < {log}); echo >> {log}; echo 1 $((100 + n * n * 7919 % 101))"
        done = self.compare(noisy, noisy, "--fail-on", "slower,undecided", "--budget", "3s")
        self.assertEqual((done.returncode, verdicts(done)), (UNDECIDED, {"1": "undecided"}), done.stdout)
        self.assertEqual(self.compare(noisy, noisy, "--fail-on", "none", "--budget", "3s").returncode, OK)

    def test_too_few_launches_for_a_verdict_are_no_success(self):
        done = self.compare("sleep 0.1; echo 1 1", "sleep 0.1; echo 1 2", "--budget", "1s")
        self.assertEqual(done.returncode, UNDECIDED, done.stdout)
        self.assertIn("type a larger --budget", tutti.said(done.stderr)[0])

    def test_many_metrics_can_be_slower_at_the_same_time(self):
        done = self.compare(prints(*[100] * 60), prints(*[120] * 60), "--budget", "30s")
        self.assertEqual((done.returncode, set(verdicts(done).values())), (SLOWER, {"slower"}), done.stdout)

    def test_begin_by_turns(self):
        log = self.folder / "log"
        self.compare(f"echo A >> {log}; {prints(100)}", f"echo B >> {log}; {prints(100)}")
        order = log.read_text().replace("\n", "")
        self.assertEqual(order, "ABBABAAB" * (len(order) // 8))

    def test_numbers_are_found_in_json_and_by_a_single_group(self):
        done = self.compare("""echo '{"a": [{"t": 5}]}'""", """echo '{"a": [{"t": 6}]}'""", metric="/a/0/t")
        self.assertEqual(verdicts(done), {"/a/0/t": "slower"}, done.stdout + done.stderr)
        done = self.compare("echo took 5 ms", "echo took 5 ms", metric=r"took (\S+) ms")
        self.assertEqual(list(verdicts(done).values()), ["same"], done.stdout + done.stderr)

    def test_lines_of_one_name_are_told_apart(self):
        done = self.compare("echo 1 100; echo 1 100", "echo 1 100; echo 1 200")
        self.assertEqual(verdicts(done), {"1": "same", "1 (2)": "slower", "geometric mean": "slower"}, done.stdout)

    def test_the_environment_may_differ(self):
        same = "echo 1 $TIME"
        done = self.compare(same, same, "--env-a", "TIME=10", "--env-b", "TIME=20")
        self.assertEqual(verdicts(done), {"1": "slower"}, done.stdout + done.stderr)

    def test_a_program_that_fails_is_wrong_however_fast(self):
        done = self.compare(prints(100), prints(10) + "; echo no memory >&2; exit 3")
        self.assertEqual(done.returncode, WRONG, done.stdout)
        self.assertEqual(tutti.said(done.stderr), ["tutti: B ended with 3: no memory"])

    def test_of_a_program_that_fails_the_last_lines_are_quoted(self):
        done = self.compare(prints(100), "seq 30 >&2; exit 3")
        quoted = "".join(f"\n  {line}" for line in range(11, 31)) + "\n"
        self.assertTrue(done.stderr.endswith("tutti: B ended with 3: " + quoted), done.stderr)

    def test_a_metric_that_one_does_not_print_is_named(self):
        done = self.compare(prints(100, 100), prints(100))
        self.assertIn("# not compared: 2: only one of the two programs printed it", done.stdout)
        self.assertEqual(verdicts(done), {"1": "same"})

    def test_a_number_that_cannot_be_compared_drops_its_metric(self):
        for number in ("inf", "nan", "-inf", "1e999", "-5", "0.000", "1e-320", "N/A"):
            with self.subTest(number):
                done = self.compare(prints(number), prints(1))
                self.assertEqual(done.returncode, UNDECIDED, done.stdout + done.stderr)
                self.assertRegex(done.stdout, f"# not compared: 1: A printed '{number}', which is not a number")
                self.assertEqual(tutti.said(done.stderr), ["tutti: no metric could be compared; see the lines '# not compared'"])
        done = self.compare("""echo '{"t": 1e999, "u": 0, "w": 5}'""", """echo '{"t": 1, "u": 1, "w": 5}'""", "--metric", "/u",
                            "--metric", "/w", metric="/t")
        self.assertEqual((done.returncode, verdicts(done)), (UNDECIDED, {}), done.stdout + done.stderr)
        done = self.compare(prints(0, 100), prints(1, 110))
        self.assertEqual((done.returncode, verdicts(done)), (SLOWER, {"2": "slower"}), done.stdout)
        self.assertIn("# not compared: 1: A printed '0'", done.stdout)
        done = tutti.run("compare", "--program-a", "echo 1 0", "--metric", r"^(\d+) (\S+)", "--aa", 20)
        self.assertEqual(done.returncode, UNDECIDED, done.stdout + done.stderr)

    def test_a_metric_that_is_sometimes_unusable_is_dropped_whenever_that_happens(self):
        """From the n-th run on: in the first launch, later in the first stage, in the second."""
        runs = self.folder / "runs"
        for first in (2, 20, 60):
            for text in ("echo 2 0.000", ":", "echo 2 N/A"):
                with self.subTest(first=first, text=text):
                    runs.write_text("")
                    program = f"echo >>{runs}; echo 1 100; if [ $(wc -l <{runs}) -ge {first} ]; then {text}; else echo 2 %d; fi"
                    done = self.compare(program % 5, program % 6, "--json", self.folder / f"{first}{len(text)}.jsonl")
                    self.assertEqual((done.returncode, verdicts(done)), (OK, {"1": "same"}), done.stdout + done.stderr)
                    self.assertRegex(done.stdout, "(?m)^# not compared: 2: .*(A|B) (printed|did not print)")

    def test_a_program_that_hangs_is_killed_with_its_children(self):
        hangs = "sleep 62.75 & echo waits; sleep 62.75; echo 1 1"
        for a, b, name, words, within in ((hangs, prints(1), "A", ("--budget", "4s"), 15),
                                          (prints(1), hangs, "B", ("--run-timeout", "1s"), 10),
                                          (prints(1), "sleep 0.2;" + hangs, "B", ("--budget", "4s", "--run-timeout", "50s"), 15)):
            with self.subTest(name=name, words=words):
                began = time.monotonic()
                done = self.compare(a, b, *words)
                self.assertEqual(done.returncode, TIME_OUT, done.stdout + done.stderr)
                line, = tutti.said(done.stderr)
                self.assertRegex(line, rf"^tutti: {name} did not end within [\d.]+ s and was killed.*waits$")
                self.assertLess(time.monotonic() - began, within * tutti.PATIENCE)
                self.assertEqual(subprocess.run(["pgrep", "-f", "^sleep 62.75"], check=False).returncode, 1)

    def test_a_run_that_hangs_later_is_told_by_those_before_it(self):
        runs = self.folder / "runs"
        hangs = f"echo >>{runs}; test $(wc -l <{runs}) -lt 9 || sleep 61.5; echo 1 1"
        done = self.compare(hangs, prints(1))
        self.assertEqual(done.returncode, TIME_OUT, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"A did not end within 10.0 s and was killed \(the longest run before it took [\d.]+ s\)")
        self.assertNotIn("--budget", done.stderr)  # it did not limit this run

    def test_a_first_launch_that_outlasts_the_budget_is_cut_short(self):
        began = time.monotonic()
        done = self.compare("sleep 2; echo 1 1", "sleep 2; echo 1 1", "--budget", "1s", "--quads", 20)
        self.assertEqual(done.returncode, UNDECIDED, done.stdout + done.stderr)
        self.assertIn("# not compared: all metrics: the budget ended during the first launch", done.stdout)
        self.assertLess(time.monotonic() - began, 20 * tutti.PATIENCE)

    def test_the_rule_that_decided_is_explained(self):
        done = self.compare(prints(100), prints(110), "--explain", "1")
        self.assertRegex(done.stdout, r"# 1: slower, because the 98 % interval is 10.0 % to 10.0 %")
        self.assertRegex(done.stdout, r"#   12 launches of stage 2")
        done = self.compare(prints(100), prints(110), "--explain", "no such")
        self.assertEqual(done.returncode, USAGE)

    def test_everything_is_kept_in_records(self):
        file = self.folder / "new/r.jsonl"
        self.compare(prints(100, 100), prints(100, 110), "--json", file)
        records = tutti.records(file)
        self.assertEqual([record["kind"] for record in records][:2], ["session", "launch"])
        self.assertEqual(records[-1]["kind"], "end")
        pairs = [record for record in records if record["kind"] == "pair"]
        of_stage = collections.Counter((pair["metric"], pair.get("stage", 1)) for pair in pairs)
        self.assertEqual(of_stage, {("1", 1): 7, ("2", 1): 7, ("2", 2): 12})
        explained = tutti.run("compare", "--from", file, "--explain", "2").stdout
        self.assertIn("12 launches of stage 2", explained)  # those alone have decided
        slower = next(record for record in records if record.get("verdict") == "slower")
        self.assertEqual((slower["metric"], slower["n_launch"], slower["stage"]), ("2", 12, 2))
        self.assertAlmostEqual(slower["ratio"], 1.1)
        self.assertEqual(tutti.run("report", file, "-o", self.folder / "r.html").returncode, USAGE)  # no figures in it

    def test_a_comparison_that_was_interrupted_goes_on(self):
        file, runs = self.folder / "r.jsonl", self.folder / "runs"
        words = ("compare", "--program-a", f"echo >>{runs}; test $(wc -l <{runs}) != 33 || kill -INT $PPID; {prints(100)}",
                 "--program-b", prints(110), "--metric", r"^(\d+) (\S+)", "--quads", 2)
        done = tutti.run(*words, "--json", file)
        self.assertEqual(done.returncode, 130, done.stdout + done.stderr)
        self.assertIn(f"the pairs of 8 launches are in '{file}'; go on by the same command with --resume {file}", done.stderr)
        self.assertIn("did not come to its end; go on with it by its own words", tutti.run("compare", "--from", file).stderr)
        done = tutti.run(*words, "--resume", file)
        self.assertEqual(verdicts(done), {"1": "slower"}, done.stdout + done.stderr)
        # Four runs of A in each of 7 launches, and 12 of a second stage; one launch was cut short at its first.
        self.assertEqual(len(runs.read_text()), 4 * 19 + 1)
        self.assertIn("# 1: slower", tutti.run("compare", "--from", file, "--explain", "1").stdout)
        done = tutti.run(*words, "--resume", file)
        self.assertIn("came to its end: there is nothing to resume", done.stderr)

    def test_another_comparison_is_not_gone_on_with(self):
        file = self.folder / "r.jsonl"
        words = ("compare", "--program-a", "kill -INT $PPID; echo 1 1", "--program-b", "echo 1 1", "--metric", "(.) (.)")
        self.assertEqual(tutti.run(*words, "--json", file).returncode, 130)
        done = tutti.run(*words, "--rate", "--resume", file)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("the interrupted run had '' for --rate, not 'true'", done.stderr)
        done = tutti.run("compare", "--resume", file)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("type them, with --resume FILE", done.stderr)

    def test_views_are_written_for_other_programs(self):
        file, junit = self.folder / "r.jsonl", self.folder / "ci/junit.xml"
        done = self.compare(prints(100, 100), prints(100, 110), "--json", file, "--write", f"junit={junit}", "--write",
                            "csv=-")
        self.assertEqual(done.returncode, SLOWER, done.stdout + done.stderr)
        cases = xml.etree.ElementTree.parse(junit).getroot().findall("testsuite/testcase")
        self.assertEqual({case.get("name"): [child.tag for child in case] for case in cases},
                         {"1": [], "2": ["failure"]})
        self.assertIn('"2",slower,1.1,', done.stdout)
        again = tutti.run("compare", "--from", file, "--write", "markdown=-")
        self.assertEqual(again.returncode, SLOWER, again.stderr)
        self.assertIn("| 2 | 100 | 110 | +10.0 % |", again.stdout)
        self.assertEqual(tutti.run("compare", "--from", file, "--fail-on", "faster").returncode, OK)

    def test_what_cannot_be_done_says_what_to_type(self):
        for words, says in (
                ((), "nothing is measured; type tutti compare A B -- bench"),
                (("--metric", "(.*)"), "type --program-a and --program-b, too"),
                (("--program-a", "echo 1"), "type --program-a and --program-b, too"),
                (("--program-a", "echo 1", "--program-b", "echo 1"), "type --metric with a regular expression"),
                (("--program-a", "echo 1", "--program-b", "echo 1", "--metric", "x"), "has 0 groups"),
                (("--program-a", "echo 1", "--program-b", "echo 1", "--metric", "("), "is not a valid regular expression"),
                (("--program-a", "echo 1", "--program-b", "echo 1", "--metric", "x(.*)"), "matches no line"),
                (("--program-a", "echo a", "--program-b", "echo a", "--metric", "(a)"), "captures 'a', which is not a number"),
                (("--program-a", "echo 1", "--program-b", "echo 1", "--metric", "/a"), "does not match the program's output"),
                (("--fail-on", "slow"), "slower"),
                (("--write", "junit"), "type --write junit=FILE"),
                (("--write", "junti=x"), "junit"),
                (("--from", "/dev/null"), "is empty"),
                (("--quads", "3"), "type an even number"),
                (("--run-timeout", "0"), "use for example 30s"),
                (("--run-timeout", "3s", *BENCH), "--run-timeout works only with --program-a and --program-b"),
                (("--env-a", "NAME", *BENCH), "type NAME=VALUE"),
                (("no/such/tutti", *BENCH), "cannot be run; type the path of a tutti")):
            with self.subTest(words):
                done = tutti.run("compare", *words)
                self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
                line, = tutti.said(done.stderr)
                self.assertIn(says, line)

    def test_ctrl_c_ends_the_programs_too(self):
        with subprocess.Popen([tutti.EXECUTABLE, "compare", "--program-a", "exec sleep 61.25", "--program-b", "true",
                               "--metric", "(.*)"], stderr=subprocess.PIPE, text=True, env=tutti.CLEAN) as process:
            def sleepers():
                return subprocess.run(["pgrep", "-f", "^sleep 61.25"], capture_output=True, text=True,
                                      check=False).stdout.split()
            end = time.monotonic() + 20
            while not sleepers() and time.monotonic() < end:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=20)[1]
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertIn("run the same command", said)
        while sleepers() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(sleepers(), [])


class OfJobs(unittest.TestCase):
    def compare(self, *words, bench=BENCH):
        return tutti.run("compare", *THREADS, *words, *bench, timeout=150)

    def test_ctrl_c_leaves_no_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [str(word) for word in ("compare", *THREADS, "--budget", "60s", *BENCH)]
            with subprocess.Popen([tutti.EXECUTABLE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=tutti.CLEAN | {"TMPDIR": folder}) as process:
                end = time.monotonic() + 20
                while not os.listdir(folder) and time.monotonic() < end:
                    time.sleep(0.02)
                self.assertTrue(os.listdir(folder))
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=20)
            self.assertEqual(process.returncode, 128 + signal.SIGINT)
            while os.listdir(folder) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(os.listdir(folder), [])

    def test_two_jobs_measure_by_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "r.jsonl")
            done = self.compare("--budget", "3s", "--fail-on", "none", "--json", file)
            self.assertIn(done.returncode, UNSURE, done.stdout + done.stderr)
            pairs = [record for record in tutti.records(file) if record["kind"] == "pair"]
        self.assertGreaterEqual(len(pairs), 1)
        for pair in pairs:
            self.assertEqual(pair["metric"], "all_reduce 64 float sum registered ring (shm)")
            self.assertEqual(len(pair["quads"]), 2)
            self.assertGreater(pair["a_ns"], 0)

    @tutti.needs_mpi
    def test_each_has_a_temporary_folder_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            seen, program = Path(folder, "seen"), Path(folder, "tutti")
            program.write_text(f'#!/bin/sh\ntest -d "$TMPDIR" && echo "$TMPDIR" >>{seen}\nexec {tutti.EXECUTABLE} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
            self.compare(program, "--budget", "2s")
            folders = seen.read_text(encoding="utf-8").split()
            self.assertGreater(len(folders), 1)
            self.assertEqual(len(set(folders)), len(folders))
            self.assertFalse([one for one in folders if Path(one).exists()])
            seen.write_text("", encoding="utf-8")
            # With a launcher of one's own ranks may be on hosts where there is no such folder.
            tutti.run("compare", program, "--launcher", "env", "--quads", 2, "--budget", "2s", *BENCH, "--ranks", 2)
            self.assertNotIn("tutti-", seen.read_text(encoding="utf-8"))

    def test_so_do_jobs_of_mpi_ranks(self):
        done = tutti.run("compare", "--quads", 2, "--budget", "4s", "--fail-on", "none", *BENCH, timeout=150)
        self.assertIn(done.returncode, UNSURE, done.stdout + done.stderr)
        self.assertEqual(len(verdicts(done)), 1, done.stdout)

    def test_settings_that_differ_share_a_line(self):
        bench = BENCH[:3] + BENCH[5:]
        done = self.compare("--words-a", "--algo ring", "--words-b", "--algo butterfly", "--budget", "3s",
                            "--fail-on", "none", bench=bench)
        self.assertEqual(list(verdicts(done)), ["all_reduce 64 float sum registered ring (shm) -> butterfly (shm)"], done.stdout)

    def test_wrong_results_end_it_at_once(self):
        bench = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "loopback", "--baseline", "none",
                 "--counts", "16,64", "--inplace", "no", "--sync", "barrier")
        done = self.compare("--words-b", "--fault corrupt", bench=bench)
        self.assertEqual(done.returncode, WRONG, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"# WRONG: B: \d+ wrong elements in all_reduce 64 float sum")
        self.assertIn(" 1 launches of both", done.stdout)

    def test_a_named_algorithm_that_cannot_run_is_refused(self):
        bench = ("--", "bench", "all_reduce", "--algo", "ring", "--transport", "shm,mpi", "--baseline", "none",
                 "--counts", "16", "--inplace", "no")
        done = self.compare("--budget", "3s", bench=bench)
        self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
        line, = tutti.said(done.stderr)
        self.assertIn("named, but not measured: --transport mpi (ring (mpi): ", line)
        done = self.compare("--budget", "3s", "--fail-on", "none", bench=(*bench, "--allow-skips"))
        self.assertIn(done.returncode, UNSURE, done.stdout + done.stderr)
        self.assertIn("# not compared: all_reduce 64 float sum registered ring (mpi): ", done.stdout)

    def test_the_step_that_grew_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "r.jsonl")
            done = tutti.run("compare", *THREADS, "--ranks", 3, "--words-b", "--fault delay:ms=2,step=2", "--attribute",
                             "--json", file, "--budget", "60s", "--", "bench", "all_reduce", "--algo", "ring",
                             "--transport", "loopback", "--baseline", "none", "--counts", "30", "--inplace", "no",
                             "--sync", "barrier", timeout=150)
            self.assertEqual(done.returncode, SLOWER, done.stdout + done.stderr)
            times, = [record for record in tutti.records(file) if record["kind"] == "step_growth"]
        self.assertRegex(done.stdout, r"# all_reduce 120 .*: step 2 of 4 grew most, by [1-9]\d{3,}\.\d+ of ")
        self.assertEqual([len(times[name]) for name in ("a_ns", "b_ns", "grew_ns")], [5, 5, 5])
        self.assertEqual(times["grew_ns"].index(max(times["grew_ns"])), 2)

    def test_programs_have_no_steps(self):
        done = tutti.run("compare", "--program-a", "echo 1 1", "--program-b", "echo 1 1", "--metric", r"^(\d+) (\S+)",
                         "--attribute")
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn("--attribute sees the steps of tutti's own algorithms", tutti.said(done.stderr)[0])

    def test_calls_that_differ_are_not_compared(self):
        bench = tuple(word for word in BENCH if word not in ("--counts", "16"))
        done = self.compare("--words-a", "--counts 16", "--words-b", "--counts 32", bench=bench)
        self.assertEqual(done.returncode, UNDECIDED, done.stdout)
        self.assertIn("let both have the same sizes", tutti.said(done.stderr)[0])

    def test_a_word_that_bench_does_not_know_is_a_usage_error(self):
        done = self.compare(bench=(*BENCH, "--no-such-option"))
        self.assertEqual(done.returncode, USAGE, done.stdout)

    def test_a_job_that_does_not_measure_is_named(self):
        done = self.compare(tutti.EXECUTABLE, "/bin/true")
        self.assertEqual(done.returncode, UNDECIDED, done.stdout)
        self.assertRegex(tutti.said(done.stderr)[0], "^tutti: B ended before it measured")

    def test_the_same_against_itself_says_what_a_wish_needs(self):
        done = self.compare("--aa", 12)
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"# \d false alarms in 1 comparisons of 12 launches each")
        self.assertRegex(done.stdout, r"all_reduce 64 float sum registered ring \(shm\) +\S+ % +\d +\S+ % +-( +\d+){2}\n")


if __name__ == "__main__":
    unittest.main()
