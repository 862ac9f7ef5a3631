# SPDX-License-Identifier: Apache-2.0
"""What cannot be done is refused before anything is timed: exit 64, and one line that helps."""
import unittest

import tutti
from tutti import QUICK

USAGE = 64


class Refusal(tutti.Folder):
    def refused(self, *words, says, **environment):
        """`says` are parts of the one line on stderr."""
        done = tutti.run(*words, **environment)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertNotIn("Avg bus bandwidth", done.stdout)
        return done

    def bench_refused(self, *words, says):
        self.refused("bench", *words, *QUICK, says=says)


class Names(Refusal):
    def test_that_are_mistyped_are_guessed(self):
        self.refused("benhc", says=["unknown command 'benhc'", "did you mean 'bench'?"])
        self.refused("verify", "all_reduc", says=["did you mean 'all_reduce'?"])
        self.refused("show", "rin", says=["did you mean 'ring'?"])
        for words, guess in [(["all_reduc"], "all_reduce"),
                             (["all_reduce", "--algo", "rng"], "ring"),
                             (["all_reduce", "--algo", "ring,tre"], "tree"),
                             (["all_reduce", "-d", "flot"], "float"),
                             (["all_reduce", "-o", "summ"], "sum"),
                             (["all_reduce", "--transport", "shmm"], "shm"),
                             (["all_reduce", "--baseline", "mpl/ring"], "mpi"),
                             (["all_reduce", "--transport", "loopback", "--fault", "drip"], "drop")]:
            with self.subTest(words):
                self.bench_refused(*words, says=["unknown", f"did you mean '{guess}'?"])

    def test_like_no_other_are_answered_by_all_there_are(self):
        self.bench_refused("all_reduce", "--baseline", "qqqqqqqq", says=["known: none mpi"])
        self.bench_refused("all_reduce", "--inplace", "qqqqqqqq", says=["no, yes, both"])
        self.bench_refused("all_reduce", "--buffers", "qqqqqqqq", says=["registered, unregistered, host, mapped, pinned, device"])
        self.bench_refused("all_reduce", "--input", "qqqqqqqq", says=["untouched, rewritten"])
        self.bench_refused("all_reduce", "--order-by", "qqqqqqqq", says=["naive, topology or a file"])
        self.bench_refused("all_reduce", "-d", "", says=["known: int8"])

    def test_of_options_are_guessed(self):
        for words, guess in [(["bench", "all_reduce", "--trasport", "shm"], "--transport"),
                             (["bench", "all_reduce", "--algos=ring"], "--algo"), (["tune", "--buget", "3s"], "--budget"),
                             (["list", "--jsn"], "--json"), (["topo", "--form", "x"], "--from"),
                             (["verify", "--rank", "3"], "--ranks"), (["show", "ring", "--svgg", "x"], "--svg")]:
            with self.subTest(words):
                self.refused(*words, says=["unknown option '", f"did you mean '{guess}'?", f"see 'tutti {words[0]}"])

    def test_of_options_are_checked(self):
        for words in (["bench", "all_reduce", "--nope"], ["list", "--nope"], ["topo", "extra"],
                      ["report"], ["show"]):
            with self.subTest(words):
                self.refused(*words, says=[f"see 'tutti {words[0]} --help'"])


class Combinations(Refusal):
    def test_islands_are_no_larger_than_their_nodes(self):
        self.bench_refused("all_reduce", "--ranks-per-node", 2, "--ranks-per-island", 3,
                           says=["do not fit into nodes of 2", "type a smaller --ranks-per-island"])

    def test_an_algorithm_does_only_its_collectives(self):
        self.bench_refused("scatter", "--algo", "double-tree",
                           says=["'double-tree' cannot do scatter", "one of: ring tree"])

    def test_an_algorithm_that_refuses_these_ranks_leaves_a_record_of_why(self):
        file = self.folder / "r.jsonl"
        done = tutti.run("bench", "all_to_all", "--algo", "butterfly,bruck", "--ranks", 3,
                         "--transport", "shm", "--counts", 4, "--json", file, *QUICK)
        self.assertEqual(done.returncode, 64, done.stderr)  # it was named
        reasons = {point["key"]["algo"]: point.get("skipped") for point in tutti.points(file)
                   if point["key"]["impl"] == "tutti"}
        self.assertEqual(reasons, {"butterfly": "it needs a power of two, not 3 ranks; use bruck or round-robin",
                                   "bruck": None})
        self.assertRegex(done.stdout, f"# skipped: butterfly over shm at 48.*: {reasons['butterfly']}\n")

    def test_a_race_without_runners_is_none(self):
        self.bench_refused("all_reduce", "--algo", "none", "--baseline", "none",
                           says=["nobody takes part", "--algo all"])

    def test_a_fault_needs_the_transport_that_can_fail(self):
        self.bench_refused("all_reduce", "--fault", "drop", says=["add --transport loopback"])

    def test_threads_and_processes_exclude_each_other(self):
        self.refused("bench", "all_reduce", "--ranks", 2, PMI_RANK="0", PMI_SIZE="4",
                     says=["--ranks makes threads", "mpiexec (PMI) has started 4 processes"])


class Numbers(Refusal):
    def test_must_be_in_range(self):
        for words, says in [(["-b", "1M", "-e", "8"], "-b 1M is above -e 8"),
                            (["-b", "4Q"], "4Q"),
                            (["-f", "1"], "-f must be above 1"),
                            (["-f", "0.5"], "-f must be above 1"),
                            (["-f", "nan"], "-f must be above 1, not 'nan'; type for example -f 2"),
                            (["-f", "inf"], "-f must be above 1, not 'inf'"),
                            (["-f", "twice"], "-f must be above 1, not 'twice'"),
                            (["-b", "1", "-e", "4G", "-f", "1.0000001"], "over 100000 sizes; type a larger -f, or -f 2"),
                            (["-b", "1", "-e", "4G", "-i", "1"], "over 100000 sizes; type a larger -i, or -f 2"),
                            (["-b", "-8"], "-8"),
                            (["-T", "nan"], "30s"),
                            (["--max-time", "-1s"], "'-1s' is not"),
                            (["--max-time", "nans"], "'nans' is not"),
                            (["--budget", "infs"], "'infs' is not"),
                            (["--target-ci", "-2%"], "'-2%' is not"),
                            (["--target-ci", "nan%"], "'nan%' is not"),
                            (["--learn-bound", "nan"], "'nan' is not"),
                            (["-i", "0"], "-i 1M"),
                            (["-T", "0"], "use for example 30s"),
                            (["--counts", "x"], "--counts 0,1,1000"),
                            (["--counts", "99999999999999999"], "--counts 0,1,1000"),
                            (["--counts", "9999999999999"], "type a smaller -e or --counts"),
                            (["--target-ci", "x"], "2.5%"),
                            (["-r", "x"], "-r all"),
                            (["-r", "0,1"], "-r all"),
                            (["--ranks", "0"], "not in range"),
                            (["--ranks", "2", "--max-time", "soon"], "30s"),
                            (["--max-time", "0.2"], "0.2s or 0.2ms"),
                            (["--budget", "20"], "20s or 20ms"),
                            (["--seed", "-1"], "'-1' is no seed; type a number from 0 to"),
                            (["--seed", "99999999999999999999"], "is no seed"),
                            (["--budget", ""], "nothing stands behind --budget"),
                            (["--counts", ""], "nothing stands behind --counts; type a value, or leave it out")]:
            with self.subTest(words):
                self.refused("bench", "all_reduce", *words, says=[says])
        self.refused("bench", "all_reduce", "-n", "0", says=["--iters", "in range"])

    def test_are_checked_in_all_commands_alike(self):
        for words, says in [(["tune", "--seed", "-1"], "'-1' is no seed"),
                            (["workload", "ddp", "--seed", "1x"], "'1x' is no seed"),
                            (["tune", "-f", "nan"], "-f must be above 1, not 'nan'"),
                            (["tune", "-b", "1", "-e", "4G", "-f", "1.0000001"], "over 100000 sizes"),
                            (["tune", "--hysteresis", "-3%"], "'-3%' is not"),
                            (["tune", "--budget", "0"], "--budget 60s"),
                            (["workload", "ddp", "--max-time", "nans"], "'nans' is not"),
                            (["workload", "ddp", "--target-ci", "nan"], "'nan' is not"),
                            (["limits", "--budget", "-4s"], "'-4s' is not"),
                            (["limits", "-T", "0"], "use for example 30s")]:
            with self.subTest(words):
                self.refused(*words, says=[says])

    def test_of_roots_are_ranks(self):
        self.bench_refused("broadcast", "-r", "9", "--ranks", 2,
                           says=["root 9 is not among 2 ranks; type -r 0 .. 1"])

    def test_of_segments_radices_and_channels_are_lists_in_range(self):
        for words, says in [(["--segment", "0"], "--segment 64K"), (["--segment", "16K,big"], "'big' is"),
                            (["--radix", "1"], "2 .. 64"), (["--radix", "4,65"], "2 .. 64"),
                            (["--radix", "wide"], "2 .. 64"), (["--channels", "0"], "1 .. 64"),
                            (["--channels", "1,65"], "1 .. 64")]:
            with self.subTest(words):
                self.bench_refused("all_reduce", *words, says=[says])
        self.refused("show", "ring", "--radix", "3", says=["takes no radix; leave --radix out"])
        self.refused("show", "tree", "--radix", "1", says=["not in range", "64"])
        self.refused("verify", "--radix", "1..3", says=["type --radix 2..64"])

    def test_of_rank_counts_to_prove_are_a_range(self):
        self.refused("verify", "--ranks", "8..1", says=["type the smaller number first"])
        self.refused("verify", "--ranks", "many", says=["8 or 1..64"])
        done = self.refused("verify", "all_to_all", "--algo", "butterfly", "--ranks", 3, says=["nothing was proved"])
        self.assertIn(" 0 proofs  not proved: it refuses these rank counts\n", done.stdout)


class Files(Refusal):
    END = '{"v":1,"kind":"end","launch":1,"ok":true,"wall_ns":1}\n'

    def report_refused(self, text, *says):
        self.refused("report", self.file("r.jsonl", text), "-o", self.folder / "r.html", says=says)

    def test_that_hold_no_results_make_no_report(self):
        self.report_refused("", "is empty")
        self.report_refused("size,count\n", "r.jsonl:1: not JSON")
        self.report_refused('{"v":1,"kind":"se', "r.jsonl:1: not JSON")
        self.report_refused(self.END + '{"v":1,\n' + self.END, "r.jsonl:2: not JSON")
        self.report_refused(self.END.replace('"v":1', '"v":2'), "schema version 2", "reads version 1")
        self.refused("report", self.folder / "none.jsonl", says=["none.jsonl", "No such file"])
        self.refused("report", self.folder, says=["is a folder; type a results file"])

    def test_that_hold_something_else_are_left_as_they_are(self):
        letter = self.file("letter.txt", "Dear reader,\n")
        self.bench_refused("all_reduce", "--json", letter, says=["holds something else", "another file"])
        self.assertEqual(letter.read_text(encoding="utf-8"), "Dear reader,\n")

    def test_that_cannot_be_written_are_named(self):
        for words in (["--json", "/dev/full"], ["--json", "/proc/no/r.jsonl"], ["--csv", "/proc/no/r.csv"]):
            with self.subTest(words):
                self.bench_refused("all_reduce", *words, says=[f"'{words[1]}'"])

    def test_pictures_on_a_full_disk_are_named(self):
        for words in (("topo", "--svg"), ("topo", "--dot"), ("show", "ring", "all_reduce", "--svg")):
            with self.subTest(words):
                self.refused(*words, "/dev/full", says=["'/dev/full': No space", words[-1]])

    def test_that_name_one_output_twice_are_refused(self):
        self.bench_refused("all_reduce", "-J", "a.csv", "--csv", "b.csv", says=["leave one out"])
        self.bench_refused("all_reduce", "-J", "a.xyz", says=["-J a.xyz: in which form? type -J FILE.jsonl or -J FILE.csv"])

    def test_that_two_outputs_name_keep_their_records(self):
        known = self.file("r.jsonl", self.END)
        beside = self.folder / "." / "r.jsonl"
        for option, words in (("--csv", ("--csv", beside)), ("--timeline", ("--timeline", known))):
            self.bench_refused("all_reduce", "--json", known, *words,
                               says=[f"--json and {option} both name", f"type another file behind {option}"])
        self.bench_refused("all_reduce", "--csv", self.folder / "new", "--timeline", self.folder / "new", says=["both name"])
        self.assertEqual(known.read_text(encoding="utf-8"), self.END)

    def test_to_resume_that_have_no_name_start_no_new_run(self):
        for words in (["--resume", ""], ["--resume="], ["--resume"]):
            with self.subTest(words):
                self.refused("bench", "all_reduce", "--ranks", 2, *words, says=["--resume needs the results file"])


if __name__ == "__main__":
    unittest.main()
