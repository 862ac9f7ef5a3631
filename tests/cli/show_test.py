# SPDX-License-Identifier: Apache-2.0
"""tutti show FILE.jsonl: from the records the same tables that were printed when they were made."""
import json
import re
import unittest

import tutti
from tutti import QUICK

OK, USAGE = 0, 64
SHM = ("--transport", "shm", "--baseline", "none", *QUICK)
TWO = ("--ranks", 2, *SHM)
FEW = ("bench", "all_reduce", "--algo", "ring,tree", "--counts", "4,256", *TWO)


def table(text):
    """From the head of the columns on."""
    return text[text.index("#\n#  "):]


class Shown(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.r = self.folder / "r.jsonl"

    def ok(self, *words):
        done = tutti.run(*words)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (OK, []), done.stdout)
        return done.stdout

    def refused(self, *words, says):
        done = tutti.run("show", *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (USAGE, "", 1), done.stderr)
        self.assertIn(says, done.stderr)

    def change(self, change):
        """The records of the file, each as `change` gives it; without those of which it gives nothing."""
        changed = [json.dumps(one) for record in tutti.records(self.r) if (one := change(record)) is not None]
        return self.file("changed.jsonl", "\n".join(changed) + "\n")


class Sweeps(Shown):
    def test_have_the_table_that_was_printed(self):
        many = ("--algo", "ring,tree,chain,linear,butterfly", "--counts", "4,2000", *TWO)
        for words in (FEW, ("bench", "all_reduce", *many, "--buffers", "registered,unregistered", "-d", "float,int32"),
                      ("bench", "broadcast", *many, "-r", "all", "--segment", "auto,64"), (*FEW, "--numerics"),
                      (*FEW, "--inplace", "yes", "-c", 0)):
            with self.subTest(words):
                self.r.unlink(missing_ok=True)
                printed, shown = self.ok(*words, "--json", self.r), self.ok("show", self.r)
                self.assertEqual(table(shown), table(printed))
                self.assertEqual(shown.splitlines()[:2], printed.splitlines()[:2])  # tutti, and what was typed
                self.assertIn("# 2 ranks, threads of one process\n# host ", shown)

    def test_have_all_rows_when_asked(self):
        words = ("bench", "all_reduce", "--algo", "ring,tree,chain,linear,butterfly", "--counts", "4", *TWO, "--json", self.r)
        printed = self.ok(*words, "--all-rows")
        self.assertEqual(table(self.ok("show", self.r, "--all-rows")), table(printed))
        self.assertLess(len(table(self.ok("show", self.r)).splitlines()), len(table(printed).splitlines()))

    def test_are_printed_as_other_suites_do(self):
        rows = (*FEW, "--json", self.r, "--inplace", "no", "--like")
        for like in ("nccl-tests", "osu,full"):
            with self.subTest(like):
                self.r.unlink(missing_ok=True)
                def body(text):
                    return [line for line in text.splitlines() if line.startswith(" ") or line[:1].isdigit()]
                printed = body(self.ok(*rows, like))
                self.assertEqual(body(self.ok("show", "--like", like, self.r)), printed)
                self.assertEqual(len(printed), 2)

    def test_have_the_energy_of_calls_where_it_was_measured(self):
        self.ok(*FEW, "--json", self.r)
        self.assertNotIn("energy", self.ok("show", self.r))
        for field in ("energy_J", "gpu_energy_J"):
            with self.subTest(field):
                metered = self.change(lambda record, field=field: record | ({field: 0.25} if record["kind"] == "point" else {}))
                shown = table(self.ok("show", metered))
                self.assertRegex(shown, r"(?m)^#       size .* energy$")
                self.assertEqual({line.split()[-1] for line in shown.splitlines() if line.startswith(" ")}, {"0.25"})

    def test_that_were_cut_short_say_so(self):
        self.ok(*FEW, "--json", self.r)
        cut = self.change(lambda record: record if record["kind"] != "end" else None)
        self.assertIn("# 1 launch came to no end: more was to be measured\n", self.ok("show", cut))
        self.assertNotIn("came to no end", self.ok("show", self.r))
        with open(cut, "a", encoding="utf-8") as file:
            file.write(json.dumps({"v": 1, "kind": "fail", "session": tutti.records(self.r)[0]["id"], "launch": 1,
                                   "phase": "rank 1 was lost", "what": "exit"}) + "\n")
        self.assertIn("# FAILED: exit: rank 1 was lost\n", self.ok("show", cut))


class Launches(Shown):
    def test_that_are_alike_are_one_table_as_launches_are(self):
        printed = self.ok(*FEW, "--launches", 3, "--json", self.r)
        shown = self.ok("show", self.r)
        self.assertEqual(shown, printed)
        self.assertIn("# 3 launches of 2 ranks, each of fresh processes; a time is the median", shown)

    def test_of_several_files_are_taken_together(self):
        other = self.folder / "other.jsonl"
        self.ok(*FEW, "--json", self.r)
        self.ok(*FEW, "--json", other, "--seed", 7)
        self.assertIn("# 2 launches of 2 ranks", self.ok("show", self.r, other))
        self.refused(self.r, other, self.r, says="holds a run that an earlier file holds, too; leave one of them out")

    def test_that_differ_have_a_table_each(self):
        self.ok(*FEW, "--json", self.r)
        self.ok(*FEW, "--json", self.r)
        ring = self.ok("bench", "all_reduce", "--algo", "ring", "--counts", "4,256", *TWO, "--json", self.r)
        shown = self.ok("show", self.r)
        self.assertTrue(shown.startswith("# 2 tables, as the launches differ in algo\n"), shown)
        both, alone = shown.split("#\n# table ")[1:]
        self.assertTrue(both.startswith("1: algo ring,tree\n"), both)
        self.assertIn("# 2 launches of 2 ranks", both)
        self.assertTrue(alone.startswith("2: algo ring\n"), alone)
        self.assertEqual(table(alone), table(ring))

    def test_of_other_machines_are_not_merged(self):
        self.ok(*FEW, "--json", self.r)
        def other(record):
            if record["kind"] == "launch":
                record["hosts"][0]["cpu_model"] = "Abacus"
            return record | {"id" if record["kind"] == "session" else "session": "other"}
        shown = self.ok("show", self.r, self.change(other))
        self.assertIn("# 2 tables, as the launches differ in cpu_model\n", shown)
        self.assertIn("# table 2: cpu_model Abacus\n", shown)

    def test_that_were_resumed_are_one(self):
        self.ok(*FEW, "--json", self.r)
        whole = tutti.records(self.r)
        with open(self.r, "w", encoding="utf-8") as file:  # the first size's points alone
            file.writelines(json.dumps(record) + "\n" for record in whole[:-1]
                            if record["kind"] != "point" or record["key"]["count"] == 4)
        printed = self.ok("bench", "--resume", self.r)
        self.assertEqual(table(self.ok("show", self.r)), table(printed))


class OtherRecords(Shown):
    def test_of_a_workload_are_its_steps(self):
        words = ("workload", "ddp", "--scale", "small", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none", "--ranks", 2,
                 "--min-steps", 5, "--max-time", "0.1s", "--json", self.r)
        printed = self.ok(*words)
        shown = self.ok("show", self.r)
        for part in (shown, printed):
            self.assertIn("# Least exposed ", part)
        self.assertEqual(table(shown), "".join(line for line in table(printed).splitlines(True) if "longer than --max-time" not in line))
        self.ok(*words)
        self.assertIn("# 2 launches of 2 ranks", self.ok("show", self.r))
        self.ok(*FEW, "--json", self.r)
        shown = self.ok("show", self.r)
        self.assertTrue(shown.startswith("# 2 tables, as the launches differ in command\n#\n# table 1: command workload\n"), shown)

    def test_of_a_comparison_are_the_table_of_compare_from(self):
        measured = self.folder / "measured.jsonl"
        self.ok(*FEW, "--json", measured)
        done = tutti.run("compare", measured, measured, "--json", self.r)
        self.assertLess(done.returncode, USAGE, done.stderr)  # there are too few launches
        shown = self.ok("show", self.r)
        head, verdicts = shown.split("# metric", 1)
        again = tutti.run("compare", "--from", self.r, "--fail-on", "none").stdout
        self.assertEqual("# metric" + verdicts, again)
        self.assertIn("# tutti compare ", head)


class WhatCannotBeShown(Shown):
    def test_is_one_line(self):
        self.ok(*FEW, "--json", self.r)
        lines = self.r.read_text(encoding="utf-8").splitlines(True)
        self.refused(self.folder / "none.jsonl", says="cannot read")
        self.refused(self.file("empty.jsonl", ""), says="is empty")
        self.refused(self.file("damaged.jsonl", "".join([*lines[:3], lines[3][:40] + "\n", *lines[4:]])), says="damaged.jsonl:4: not JSON")
        self.refused(self.file("head.jsonl", "".join(lines[:2])), says="head.jsonl': nothing in it was measured")
        self.refused(self.r, "--ranks", 4, says="--ranks is not for results files; leave it out")
        self.refused("ring", "--all-rows", says="--all-rows is not for an algorithm; leave it out")
        self.refused("ring", "all_reduce", "tree", says="type one algorithm and its collective")
        self.refused(self.r, "--like", "ocu", says="did you mean 'osu'?")
        self.refused(self.r, "--like", "osu", says="--inplace no or yes")

    def test_is_said_of_a_torn_last_line_and_the_rest_is_shown(self):
        self.ok(*FEW, "--json", self.r)
        torn = self.file("torn.jsonl", self.r.read_text(encoding="utf-8")[:-30])
        done = tutti.run("show", torn)
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertIn("the last line is torn", tutti.said(done.stderr)[0])
        # The last record has how the hosts did over the launch.
        whole = re.sub(r"# but: host .*\n", "", table(self.ok("show", self.r)))
        self.assertEqual(re.sub(r"# but: host .*\n", "", table(done.stdout)), whole)

    def test_is_not_what_has_the_name_of_an_algorithm(self):
        """Whatever else lies in this folder."""
        any_name = self.file("records", "")
        self.refused(any_name, says="is empty")
        self.assertIn("proof      delivers", self.ok("show", "ring", "all_reduce"))


if __name__ == "__main__":
    unittest.main()
