# SPDX-License-Identifier: Apache-2.0
"""tutti show FILE.jsonl prints the same tables from the records as the run that made them."""
import csv
import json
import re
import unittest

import tutti
from tutti import QUICK, of_kind

OK, USAGE = 0, 64
TWO = ("--ranks", 2, "--transport", "shm", "--baseline", "none", *QUICK)
FEW = ("bench", "all_reduce", "--algo", "ring,tree", "--counts", "4,256", *TWO)


def table(text):
    """From the head of the columns on."""
    return text[text.index("#\n#  "):]


class Shown(tutti.Folder):
    def change(self, change):
        """A file with the records as `change` returns them, without those for which it returns None."""
        changed = [json.dumps(one) for record in tutti.records(self.results) if (one := change(record)) is not None]
        return self.file("changed.jsonl", "\n".join(changed) + "\n")


class Sweeps(Shown):
    def test_have_the_table_that_was_printed(self):
        many = ("--algo", "ring,tree,chain,linear,butterfly", "--counts", "4,2000", *TWO)
        for words in (FEW, ("bench", "all_reduce", *many, "--buffers", "registered,unregistered", "-d", "float,int32"),
                      ("bench", "broadcast", *many, "-r", "all", "--segment", "auto,64"), (*FEW, "--numerics"),
                      (*FEW, "--inplace", "yes", "-c", 0)):
            with self.subTest(words):
                self.results.unlink(missing_ok=True)
                printed, shown = self.ok(*words, "--json", self.results), self.ok("show", self.results)
                self.assertEqual(table(shown), table(printed))
                self.assertEqual(shown.splitlines()[:2], printed.splitlines()[:2])  # the version and the command

    def test_have_all_rows_when_asked(self):
        words = ("bench", "all_reduce", "--algo", "ring,tree,chain,linear,butterfly", "--counts", "4", *TWO, "--json", self.results)
        printed = self.ok(*words, "--all-rows")
        self.assertEqual(table(self.ok("show", self.results, "--all-rows")), table(printed))
        self.assertLess(len(table(self.ok("show", self.results)).splitlines()), len(table(printed).splitlines()))

    def test_are_printed_in_the_format_of_other_suites(self):
        def body(text):
            return [line for line in text.splitlines() if line.startswith(" ") or line[:1].isdigit()]
        for like in ("nccl-tests", "osu,full"):
            with self.subTest(like):
                self.results.unlink(missing_ok=True)
                printed = body(self.ok(*FEW, "--json", self.results, "--inplace", "no", "--like", like))
                self.assertEqual(body(self.ok("show", "--like", like, self.results)), printed)
                self.assertEqual(len(printed), 2)

    def test_have_the_energy_of_calls_if_it_was_measured(self):
        self.ok(*FEW, "--json", self.results)
        self.assertNotIn("energy", self.ok("show", self.results))
        for field in ("energy_J", "gpu_energy_J"):
            with self.subTest(field):
                metered = self.change(lambda record, field=field: record | ({field: 0.25} if record["kind"] == "point" else {}))
                self.assertEqual({row[-1] for row in tutti.rows(self.ok("show", metered))}, {"0.25"})

    def test_that_were_cut_short_are_marked(self):
        self.ok(*FEW, "--json", self.results)
        cut = self.change(lambda record: record if record["kind"] != "end" else None)
        lines = set(self.ok("show", cut).splitlines()) - set(self.ok("show", self.results).splitlines())
        self.assertEqual(len(lines), 1, lines)
        with open(cut, "a", encoding="utf-8") as file:
            file.write(json.dumps({"v": 1, "kind": "fail", "session": tutti.records(self.results)[0]["id"], "launch": 1,
                                   "phase": "planted", "what": "exit"}) + "\n")
        self.assertIn("# FAILED: exit: planted\n", self.ok("show", cut))

    def test_are_shown_up_to_a_torn_last_line(self):
        self.ok(*FEW, "--json", self.results)
        torn = self.file("torn.jsonl", self.results.read_text(encoding="utf-8")[:-30])
        done = tutti.run("show", torn)
        self.assertEqual((done.returncode, len(tutti.said(done.stderr))), (OK, 1), done.stderr)
        # The last record has the health of the hosts over the launch.
        whole = re.sub(r"# but: host .*\n", "", table(self.ok("show", self.results)))
        self.assertEqual(re.sub(r"# but: host .*\n", "", table(done.stdout)), whole)


class Launches(Shown):
    def test_that_are_alike_are_one_table(self):
        self.assertEqual(self.ok(*FEW, "--launches", 3, "--json", self.results), self.ok("show", self.results))

    def test_of_several_files_are_taken_together(self):
        other = self.folder / "other.jsonl"
        self.ok(*FEW, "--json", self.results)
        self.ok(*FEW, "--json", other, "--seed", 7)
        self.assertIn("# 2 launches of 2 ranks", self.ok("show", self.results, other))
        self.fails(USAGE, "show", self.results, other, self.results, key="r.jsonl")

    def test_that_differ_have_a_table_each(self):
        self.ok(*FEW, "--json", self.results)
        self.ok(*FEW, "--json", self.results)
        ring = self.ok("bench", "all_reduce", "--algo", "ring", "--counts", "4,256", *TWO, "--json", self.results)
        head, both, alone = self.ok("show", self.results).split("#\n# table ")
        self.assertRegex(head, "^# 2 tables: .* algo\n")
        self.assertTrue(both.startswith("1: algo ring,tree\n"), both)
        self.assertIn("# 2 launches of 2 ranks", both)
        self.assertTrue(alone.startswith("2: algo ring\n"), alone)
        self.assertEqual(table(alone), table(ring))

    def test_of_other_machines_are_not_merged(self):
        self.ok(*FEW, "--json", self.results)
        def other(record):
            if record["kind"] == "launch":
                record["hosts"][0]["cpu_model"] = "Abacus"
            return record | {"id" if record["kind"] == "session" else "session": "other"}
        self.assertIn("# table 2: cpu_model Abacus\n", self.ok("show", self.results, self.change(other)))

    def test_show_the_candidate_that_the_summary_names(self):
        """One launch took thrice as long for ring and for the library. The ratios say ring, the medians of the times tree."""
        times = {"ring": (100, 120, 300), "tree": (110, 110, 330), "chain": (300, 360, 900)}  # chain becomes the library
        self.ok("bench", "all_reduce", "--algo", "ring,tree,chain,linear,butterfly", "--counts", "4", "--inplace", "no", *TWO, "--json", self.results)
        lines = []
        for launch in range(3):
            for record in tutti.records(self.results):
                record["id" if record["kind"] == "session" else "session"] = f"launch-{launch}"
                if record["kind"] == "point":
                    algorithm = record["key"]["algo"]
                    record["t_ns"]["p50"] = times.get(algorithm, (9000,) * 3)[launch]
                    if algorithm == "chain":
                        record["key"] |= {"impl": "mpi", "algo": "", "transport": ""}
                        del record["key"]["seg"]
                lines.append(json.dumps(record) + "\n")
        file = self.file("launches.jsonl", "".join(lines))
        self.assertEqual([row[13] for row in tutti.rows(self.ok("show", file))], ["ring", "mpi"])
        self.assertEqual([row[5] for row in tutti.rows(self.ok("show", file, "--like", "nccl-tests"))], ["0.12"])

    def test_that_were_resumed_are_one(self):
        self.ok(*FEW, "--json", self.results)
        self.results = self.change(lambda record: None if record["kind"] == "end" or record.get("key", {"count": 4})["count"] != 4 else record)
        printed = self.ok("bench", "--resume", self.results)
        self.assertEqual(table(self.ok("show", self.results)), table(printed))


def cells_of(markdown):
    """The rows below the heads of Markdown tables, as lists of texts without marks."""
    rows = [[cell.strip().replace("\\", "").replace("**", "") for cell in line.strip("|").split(" | ")]
            for line in markdown.splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] not in ("size", "method", "metric")]


class OtherForms(Shown):
    def test_as_markdown_have_the_numbers_of_the_json(self):
        self.ok(*FEW[:-len(QUICK)], "-n", 9, "--json", self.results)
        shown = self.ok("show", "--markdown", self.results)
        for place in ("in place", "out of place"):
            self.assertIn(f"### all\\_reduce float sum, {place}, registered memory, 2 ranks\n", shown)
        expected = []
        for one in json.loads(self.ok("show", "--json", self.results))["tables"]:
            names = [candidate["algo"] + " (shm)" for candidate in one["candidates"]]
            for size in one["sizes"]:
                for place in size["order"]:
                    cell = next(cell for cell in size["cells"] if cell["candidate"] == place)
                    time = cell["time"]
                    expected.append([str(size["bytes"]).replace("1024", "1K"), names[place], f"{cell['p50_ns'] / 1000:.2f}",
                                     f"{time['low'] / 1000:.2f} .. {time['high'] / 1000:.2f}", f"{cell['busbw_GBps']:.2f}"])
        self.assertEqual([row[:5] for row in cells_of(shown)], expected)
        self.assertEqual(len(expected), 8)

    def test_as_markdown_name_the_setup_once(self):
        self.ok(*FEW, "--json", self.results)
        def other(record):
            if record["kind"] == "launch":
                record["hosts"][0]["cpu_model"] = "Abacus"
            return record | {"id" if record["kind"] == "session" else "session": "other"}
        titles = [line for line in self.ok("show", "--markdown", self.results, self.change(other)).splitlines() if line.startswith("### ")]
        self.assertEqual(sum(", 2 ranks, setup B: Abacus, " in title for title in titles), len(titles) / 2, titles)

    def test_of_steps(self):
        self.ok("workload", "ddp", "--scale", "small", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none", "--ranks", 2,
                "--min-steps", 7, "--max-time", "0.1s", "--json", self.results)
        steps = of_kind(self.results, "step")
        rows = list(csv.DictReader(self.ok("show", "--csv", self.results).splitlines()))
        self.assertEqual([(row["way"], int(row["step_ns"])) for row in rows], [(one["key"]["way"], one["step_ns"]["p50"]) for one in steps])
        shown = self.ok("show", "--markdown", self.results)
        self.assertEqual({(row[0], row[1]) for row in cells_of(shown)}, {(one["key"]["way"], f"{one['step_ns']['p50'] / 1e6:.3f}") for one in steps})
        self.ok(*FEW, "--json", self.results)
        self.fails(USAGE, "show", "--csv", self.results, key="columns")

    def test_of_comparisons(self):
        measured = self.folder / "measured.jsonl"
        self.ok(*FEW, "--json", measured)
        tutti.run("compare", measured, measured, "--json", self.results)
        rows = list(csv.DictReader(self.ok("show", "--csv", self.results).splitlines()))
        self.assertEqual([(row["metric"], row["verdict"]) for row in rows], [(one["metric"], one["verdict"]) for one in of_kind(self.results, "verdict")])
        self.assertIn(rows[0]["metric"].split(",")[0].split("_")[0], self.ok("show", "--markdown", self.results))

    def test_exclude_each_other(self):
        self.ok(*FEW, "--json", self.results)
        for words in (("--csv", "--json"), ("--markdown", "--json"), ("--csv", "--markdown")):
            self.fails(USAGE, "show", *words, self.results, key="exclusive")
        self.fails(USAGE, "show", "ring", "--csv", key="--csv")


class Stragglers(tutti.Folder):
    def logs(self, late):
        """Logs of NCCL's inspector of three ranks; rank `late` arrives 20 us after the others."""
        for rank in range(3):
            lines = [{"header": {"id": "0x1", "rank": rank, "n_ranks": 3, "nnodes": 1}, "metadata": {"hostname": "node1", "pid": 70 + rank},
                      "coll_perf": {"coll": "AllReduce", "coll_sn": call, "coll_msg_size_bytes": 8192,
                                    "coll_exec_time_us": 30 if rank == late else 50 + (rank + call) % 3}} for call in range(100)]
            self.file(f"node1-pid{70 + rank}.log", "".join(json.dumps(line) + "\n" for line in lines))

    def test_are_named_with_their_process(self):
        for late in range(3):
            self.logs(late)
            out = self.ok("show", "--stragglers", self.folder)
            self.assertIn(f"rank {late} (node1:{70 + late})", out)
            found = json.loads(self.ok("show", "--stragglers", "--json", self.folder))
            self.assertEqual((found["straggler"], found["missing"], found["collectives"]), (late, None, 100))
            self.assertEqual(found["ranks"][late]["last"], 100)
            self.assertEqual((found["suspected"], found["has_times"], found["begun"]), (None, True, 100))
            self.assertAlmostEqual(found["ranks"][late]["expected_last"], 100 / 3)
            self.assertIsNone(found["ranks"][late]["deviation_ns"])

    def test_are_none_if_there_are_none(self):
        self.logs(None)
        self.assertIsNone(json.loads(self.ok("show", "--stragglers", "--json", self.folder))["straggler"])

    def test_of_summed_times_wait_least(self):
        lines = ["@ mpiP", *(f"@ MPI Task Assignment : {rank} node{rank}" for rank in range(3)), "@--- Callsite Time statistics",
                 *(f"Allreduce 1 {rank} 100 {ms} {ms} {ms} 1 1" for rank, ms in enumerate((0.5, 0.4, 0.5))),
                 *(f"Barrier 2 {rank} 7 0 0 0 1 1" for rank in range(3))]
        report = self.file("report.mpiP", "\n".join(lines) + "\n")
        out = self.ok("show", "--stragglers", report)
        self.assertIn("Possible straggler: rank 1 (node1)", out)
        self.assertIn("100 of 107 collectives", out)
        self.assertNotIn("chance", out)
        self.assertIn("10.000 ms", out)
        self.assertIn("20.0 %", out)
        found = json.loads(self.ok("show", "--stragglers", "--json", report))
        self.assertEqual((found["straggler"], found["suspected"], found["missing"], found["collectives"]), (None, 1, None, 107))
        self.assertEqual((found["ranks"][1]["last"], found["ranks"][1]["waited_least"], found["ranks"][1]["deviation_ns"]), (None, 100, 0))
        self.assertEqual(found["ranks"][0]["waited_least"], 0)

    def test_by_chance_are_called_so(self):
        lines = ["@ mpiP", "@--- Callsite Time statistics", "Allreduce 1 0 100 1 0.4 0 1 1", "Allreduce 1 1 100 1 0.6 0 1 1"]
        report = self.file("report.mpiP", "\n".join(lines) + "\n")
        out = self.ok("show", "--stragglers", report)
        self.assertIn("rank 0 (task 0)", out)
        self.assertIn("chance", out)
        # Two ranks of values from 0 to 1 ms with means of 0.4 and 0.6: 100 calls deviate by 10 * sqrt(0.24) ms, and the difference twice that.
        deviation = json.loads(self.ok("show", "--stragglers", "--json", report))["ranks"][0]["deviation_ns"]
        self.assertAlmostEqual(deviation, 2 * 10 * 0.24**0.5 * 1e6, delta=1)

    def test_may_not_answer(self):
        ranks = [{"rank": rank, "host": "10.0.0.1", "pid": 50 + rank} for rank in range(2)]
        ranks[0]["collective_counts"] = {"AllReduce": 7}
        ranks[1]["status"] = {"considered_dead": True}
        snapshot = self.file("ras.json", json.dumps({"communicators_count": 1, "communicators": [
            {"hash": "0x1", "secondary_hash": "0x2", "size": 2, "ranks": ranks[:1], "missing_ranks": ranks[1:]}]}))
        self.assertRegex(self.ok("show", "--stragglers", snapshot), r"rank 1 \(10\.0\.0\.1:51\):.* dead")
        found = json.loads(self.ok("show", "--stragglers", "--json", snapshot))
        self.assertEqual((found["straggler"], found["missing"]), (None, 1))
        self.assertIn("dead", found["ranks"][1]["fault"])

    def test_are_not_found_without_times(self):
        for begun in ((0, 0), (7, 7), (7, 4)):
            ranks = [{"rank": rank, "host": "10.0.0.1", "pid": 50 + rank, "collective_counts": {"AllReduce": begun[rank]}} for rank in range(2)]
            snapshot = self.file("ras.json", json.dumps({"communicators_count": 1, "communicators": [
                {"hash": "0x1", "secondary_hash": "0x2", "size": 2, "ranks": ranks}]}))
            out = self.ok("show", "--stragglers", snapshot)
            self.assertIn("no times", out)
            self.assertNotIn("of all", out)
            self.assertEqual("No collective" in out, begun[0] == 0, out)
            self.assertEqual("7 collectives started" in out, begun[0] == 7, out)
            self.assertEqual("is missing" in out, begun == (7, 7), out)
            self.assertEqual("3 fewer collectives" in out, begun[1] == 4, out)
            found = json.loads(self.ok("show", "--stragglers", "--json", snapshot))
            self.assertEqual((found["has_times"], found["begun"]), (False, begun[0]))

    def test_need_the_logs_of_all_ranks(self):
        self.logs(0)
        out = self.ok("show", "--stragglers", *(self.folder / f"node1-pid{pid}.log" for pid in (70, 71)))
        self.assertIn("no log", out)
        self.fails(USAGE, "show", "--stragglers", key="logs")
        self.fails(USAGE, "show", "--stragglers", self.folder, "--csv", key="--csv")
        self.fails(USAGE, "show", "--stragglers", self.file("other.json", "[]"), key="other.json")


class OtherRecords(Shown):
    def test_of_a_workload_are_its_steps(self):
        words = ("workload", "ddp", "--scale", "small", "--algo", "ring,tree", "--transport", "shm", "--baseline", "none", "--ranks", 2,
                 "--min-steps", 5, "--max-time", "0.1s", "--json", self.results)
        printed = self.ok(*words)
        expected = "".join(line for line in table(printed).splitlines(True) if "longer than --max-time" not in line)
        self.assertEqual(table(self.ok("show", self.results)), expected)
        self.ok(*words)
        self.assertIn("# 2 launches of 2 ranks", self.ok("show", self.results))
        self.ok(*FEW, "--json", self.results)
        self.assertIn("# table 1: command workload\n", self.ok("show", self.results))

    def test_of_a_comparison_are_the_table_of_compare(self):
        measured = self.folder / "measured.jsonl"
        self.ok(*FEW, "--json", measured)
        done = tutti.run("compare", measured, measured, "--json", self.results)
        self.assertLess(done.returncode, USAGE, done.stderr)  # there are too few launches
        head, verdicts = self.ok("show", self.results).split("# metric", 1)
        self.assertEqual("# metric" + verdicts, tutti.run("compare", "--from", self.results, "--fail-on", "none").stdout)
        self.assertIn("# tutti compare ", head)


if __name__ == "__main__":
    unittest.main()
