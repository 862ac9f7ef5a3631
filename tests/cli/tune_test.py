# SPDX-License-Identifier: Apache-2.0
"""Tables: searched for, stored, explained, merged, used, and learned. No time is checked."""
import hashlib
import json
import signal
import subprocess
import unittest
import xml.etree.ElementTree

import tutti
from job import wait_until
from tutti import QUICK


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


SMALL = ("-b", 8, "-e", "16K", "-f", 16, "--transport", "shm", "--segment", "8K", "--radix", 2, "--channels", 1)
TWO_THREADS = ("--ranks", 2, "--baseline", "none")


class Tune(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.table = self.folder / "t.json"
        self.home = {"XDG_CACHE_HOME": str(self.folder / "cache"), "TUTTI_MODEL": "stored"}

    def run_here(self, *words):
        return self.ok(*words, "--table", self.table, timeout=300, **self.home)

    def refused(self, *words, key):
        self.fails(64, *words, "--table", self.table, key=key, **self.home)

    def tune(self, *words):
        return self.run_here("tune", *words, *SMALL, *TWO_THREADS)

    def explain(self):
        return self.ok("tune", "--explain", self.table, **self.home)

    def interrupt(self, words, until, sent=signal.SIGINT):
        """Starts a search, and sends a signal once `until` holds, or it has ended. Returns its exit code and its messages."""
        with subprocess.Popen([tutti.EXECUTABLE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=tutti.CLEAN | self.home) as job:
            wait_until(lambda: until() or job.poll() is not None, "it is time to interrupt", pause=0.001)
            job.send_signal(sent)
            _, said = job.communicate(timeout=120)
        return job.returncode, said

    def sections(self):
        return json.loads(self.table.read_text())["sections"]

    def races(self):
        path = self.folder / "t.json.races"
        return tutti.records(path)  # whole lines only: it may just be written

    def check_sections(self, wanted):
        found = {(section["subject"]["collective"], section["subject"]["buffers"]): section
                 for section in self.sections()}
        self.assertEqual(sorted(found), sorted(wanted))
        for section in found.values():
            froms = [choice["from"] for choice in section["ranges"]]
            self.assertEqual(froms[0], 0)
            self.assertEqual(froms, sorted(set(froms)))
        return found


BOTH = [(collective, buffers) for collective in ("all_reduce", "scatter") for buffers in ("registered", "unregistered")]


class Search(Tune):
    def test_writes_a_table_its_samples_and_a_model(self):
        out = self.tune("all_reduce,scatter", "--keep-anyway")
        self.check_sections(BOTH)
        self.assertEqual(len(self.models()), 1)
        for text in ("all_reduce native plain registered: ", "scatter unregistered: ", "calibrated"):
            self.assertIn(text, out)
        kinds = [record["kind"] for record in self.races()]
        self.assertEqual((kinds[0], kinds.count("cost"), kinds.count("calibration")), ("races", 4, 1))
        self.assertIn("race", kinds)

    def models(self):
        return list((self.folder / "cache/tutti").glob("model-*.json"))

    def test_keeps_the_model_that_is_nearer_to_its_measurements(self):
        words = ("scatter", "--buffers", "registered", "--keep-anyway")
        self.tune(*words)
        stored, = self.models()
        slow = json.loads(stored.read_text())
        for parameters in slow["within"].values():
            for name, value in parameters.items():
                parameters[name] = [1000 * one for one in value] if isinstance(value, list) else 1000 * value
        stored.write_text(json.dumps(slow), encoding="utf-8")
        self.tune(*words)
        table, fast = (json.loads(text) for text in (json.loads(self.table.read_text())["model"], stored.read_text()))
        self.assertEqual(table["within"], fast["within"])
        self.assertNotEqual(fast["within"], slow["within"])

    def test_on_a_busy_machine_keeps_no_model_and_replaces_none(self):
        words = ("scatter", "--buffers", "registered")
        with tutti.busy_cores():
            self.tune(*words)
            self.assertEqual(self.models(), [])
            self.assertIn("within", json.loads(json.loads(self.table.read_text())["model"]))
            self.tune(*words, "--keep-anyway")
            stored, = self.models()
            before = stored.read_text()
            self.tune(*words)
            self.assertEqual(stored.read_text(), before)

    def test_that_is_exhaustive_measures_each_variant_the_same_number_of_times(self):
        self.tune("scatter", "--search", "exhaustive", "--repetitions", 3, "--model", "none", "--buffers", "registered")
        times = {}
        for record in self.races():
            if record["kind"] == "race":
                key = (record["bytes"], record["algorithm"])
                times[key] = times.get(key, 0) + len(record["t_ns"])
        self.assertEqual(set(times.values()), {3})
        self.assertEqual({size for size, _ in times}, {8, 128, 2048})

    def test_evaluated_by_an_exhaustive_search_under_the_new_and_the_old_name(self):
        for name in ("evaluated", "judged"):
            self.tune("scatter", "--search", name, "--repetitions", 2, "--model", "none", "--buffers", "registered")
            self.assertLessEqual({"race", "judge"}, {record["kind"] for record in self.races()}, name)

    def test_adds_to_an_existing_table(self):
        self.tune("scatter", "--model", "none")
        self.tune("all_reduce", "--model", "none")
        self.check_sections(BOTH)

    def test_that_was_interrupted_leaves_a_valid_table_and_is_resumed(self):
        words = ["tune", "all", "-f", "2", *SMALL[:4], *SMALL[6:], *TWO_THREADS, "--model", "none"]
        code, _ = self.interrupt([*words, "--table", self.table], lambda: len(self.races()) > 200)
        self.assertNotEqual(code, 0)
        known = len(self.races())
        self.explain()
        self.run_here(*words, "--resume")
        self.assertEqual(len(self.sections()), 2 * len(tutti.COLLECTIVES))
        self.assertTrue(all(section.get("complete", True) for section in self.sections()))
        self.assertGreater(len(self.races()), known)

    def test_that_was_killed_leaves_an_incomplete_section(self):
        words = ["tune", "scatter", *SMALL[:4], "-f", 2, *SMALL[6:], *TWO_THREADS, "--buffers", "registered", "--model", "none",
                 "--search", "exhaustive", "--repetitions", 400]
        self.interrupt([*words, "--table", self.table], lambda: self.table.exists() and self.sections(), signal.SIGKILL)
        partial, = self.sections()
        self.assertIs(partial.get("complete", True), False)
        self.assertTrue(all(evidence["time"]["n"] > 0 for choice in partial["ranges"] for evidence in choice["evidence"]))
        self.explain()
        self.run_here(*words, "--resume")
        whole, = self.sections()
        self.assertIs(whole.get("complete", True), True)

    def test_takes_all_transports_if_all_is_named_and_needs_one_that_works(self):
        words = ["tune", "broadcast", *SMALL[:6], "--segment", "8K", "--radix", 2, "--channels", 1, "--buffers", "registered"]
        self.run_here(*words, *TWO_THREADS, "--transport", "shm-lines,all")
        transports = {record["transport"] for record in self.races() if record["kind"] == "race"}
        self.assertLessEqual({"shm-lines", "shm", "loopback"}, transports)
        self.refused(*words, *TWO_THREADS, "--transport", "mpi", key="mpi: ")

    def test_is_resumed_only_with_the_same_options(self):
        self.tune("scatter", "--model", "none")
        self.refused("tune", "all_reduce", *SMALL, *TWO_THREADS, "--resume", key="t.json.races")


class WithoutChoices(Tune):
    """A search that ends before its first choice, and the tables that earlier versions left then."""
    EMPTY = {"blank": " \n", "no sections": '{"format": "tutti-table", "version": 1, "sections": []}'}

    def in_folder(self, *words):
        return tutti.run("--chdir", self.folder, tutti.EXECUTABLE, *words, program="env", timeout=120, **self.home)

    def test_no_table_is_written_by_an_early_end(self):
        table, races = self.folder / "new/t.json", self.folder / "new/t.json.races"
        words = ["tune", "all", *SMALL, *TWO_THREADS, "--table", table]
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            self.assertNotEqual(self.interrupt(words, races.exists, sent)[0], 0)
            self.assertTrue(races.exists())
            if table.exists():  # the signal was late
                self.assertNotEqual(json.loads(table.read_text())["sections"], [])
                table.unlink()
            races.unlink()
        for more in ((), ("--launches", 2)):
            done = tutti.run("tune", "all_reduce", "-b", "64M", "-e", "64M", *TWO_THREADS, *more, "--model", "measure", "--budget", "1ms",
                             "--table", table, **self.home)
            if done.returncode == 0:  # the first candidate was faster than the budget
                self.assertNotEqual(json.loads(table.read_text())["sections"], [])
                table.unlink()
                continue
            self.assertEqual((done.returncode, table.exists()), (64, False), done.stdout + done.stderr)
            self.assertNotIn("# table: ", done.stdout)
        done = tutti.run(*words, "--hold-out", "only", "--baseline", "mpi", **self.home)
        self.assertEqual((done.returncode, table.exists()), (64, False), done.stderr)

    def test_a_search_is_resumed_from_its_log_alone(self):
        self.tune("scatter", "--model", "none")
        self.table.unlink()
        self.run_here("tune", "scatter", *SMALL, *TWO_THREADS, "--model", "none", "--resume")
        self.assertTrue(self.sections())

    def test_an_empty_table_in_the_folder_is_ignored_with_a_line(self):
        found = self.folder / "tutti-table.json"
        jobs = (("bench", "all_reduce", "--algo", "auto", "--counts", 16, *TWO_THREADS, *QUICK),
                ("workload", "ddp", "--algo", "auto", "--scale", "0.001", "--step-time", "1ms", "-n", 1, *TWO_THREADS))
        for kind, text in self.EMPTY.items():
            found.write_text(text)
            for words in jobs:
                with self.subTest(kind, words=words):
                    done = self.in_folder(*words)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertEqual(done.stderr.count("'tutti-table.json'"), 1)
                    self.assertIn("built-in rules", done.stdout)
            done = self.in_folder("bench", "all_reduce", "--algo", "learn", "--counts", 16, *TWO_THREADS, "-n", 2000, "--sync", "barrier")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(tutti.said(done.stderr)), 1)
            found.write_text(text)
            done = self.in_folder("tune", "scatter", *SMALL, *TWO_THREADS, "--model", "none")
            self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []))


class Launches(Tune):
    """Several launches, each of fresh processes, in one table."""
    WORDS = ("scatter", "--buffers", "registered", "--search", "exhaustive", "--repetitions", 3, "--model", "none")

    def test_agree_on_a_table_by_their_medians(self):
        out = self.tune(*self.WORDS, "--launches", 3)
        self.assertIn("# 3 launches", out)
        kept = self.folder / "t.json.launches"
        medians, seeds = {}, set()
        for number in (1, 2, 3):
            self.assertEqual(len(json.loads((kept / f"{number}.json").read_text())["sections"]), 1)
            samples = {}
            for record in tutti.records(kept / f"{number}.json.races"):
                if record["kind"] == "race":
                    samples.setdefault((record["bytes"], record["algorithm"]), []).extend(record["t_ns"])
                elif record["kind"] == "races":
                    seeds.update(word for word in record["plan"].split() if word.startswith("seed="))
            for key, times in samples.items():
                medians.setdefault(key, []).append(sorted(times)[1])
        self.assertEqual(seeds, {"seed=1", "seed=2", "seed=3"})
        section, = self.sections()
        self.assertEqual(len(set(section["launches"])), 3)
        seen = 0
        for choice in section["ranges"]:
            for evidence in choice["evidence"]:
                times = sorted(medians[evidence["size"], choice["choice"]["algorithm"]])
                time = evidence["time"]
                for found, wanted in zip((time["low"], time["p50"], time["high"], time["n"]), [*times, 3], strict=True):
                    self.assertAlmostEqual(found, wanted, delta=0.5)
                seen += 1
        self.assertEqual(seen, 3)
        self.explain()

    def test_print_only_their_own_sections(self):
        self.tune(*self.WORDS)
        table = json.loads(self.table.read_text())
        for section in table["sections"]:
            del section["measured_at"]  # --model-only leaves it out: the table has its own time
        self.table.write_text(json.dumps(table))
        out = self.tune("broadcast", *self.WORDS[1:], "--launches", 2)
        self.assertIn("\nbroadcast registered: ", out)
        self.assertNotIn("scatter", out)

    def test_that_are_interrupted_leave_the_table_of_those_before(self):
        words = ["tune", *self.WORDS, *SMALL, *TWO_THREADS, "--launches", 1000, "--table", self.table]
        code, said = self.interrupt(words, self.table.exists)
        self.assertEqual(code, 128 + signal.SIGINT, said)
        self.assertRegex(said, r"[1-9]\d* of 1000 launches")
        section, = self.sections()
        self.assertGreaterEqual(len(section["launches"]), 1)

    def test_that_fail_end_it_with_their_exit_code(self):
        self.refused("tune", "scatter", "--ranks", 2, "--launches", 2, "--hold-out", "only", key="t.json")
        self.refused("tune", "scatter", "--ranks", 1, "--launches", 2, key="1 of 2 ended with 64")

    def test_with_wrong_results_are_reported_and_kept(self):
        starts = self.folder / "starts"
        starts.write_text('#!/bin/sh\n"$@" --ranks 2\necho "tutti: ring/shm is wrong" >&2\nexit 2\n')
        starts.chmod(0o755)
        done = tutti.run("tune", *self.WORDS, *SMALL, "--baseline", "none", "--launcher", starts, "--launches", 2,
                         "--table", self.table, **self.home)
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (2, ["tutti: ring/shm is wrong"] * 2))
        self.assertEqual(len(self.sections()[0]["launches"]), 2)

    @tutti.needs_mpi
    def test_validate_the_table_in_further_launches(self):
        words = ["scatter", *SMALL, "--model", "none", "--launches", 2, "--launcher", f"{tutti.MPI_RUN} 2"]
        self.run_here("tune", *words)
        section, = (section for section in self.sections() if section["subject"]["buffers"] == "registered")
        self.assertEqual(len(set(section["launches"])), 4)
        compared = [evidence["hold_out"] for choice in section["ranges"] for evidence in choice.get("evidence", [])
                    if "hold_out" in evidence]
        self.assertTrue(compared)
        self.assertEqual({hold_out["choice"]["n"] for hold_out in compared}, {2})


class Tables(Tune):
    made = None  # table and model, shared by these tests

    def setUp(self):
        super().setUp()
        if Tables.made is None:
            self.tune("all_reduce,scatter", "--keep-anyway")
            model, = (self.folder / "cache/tutti").glob("model-*.json")
            Tables.made = self.table.read_text(), model.name, model.read_text()
        table, name, model = Tables.made
        self.table.write_text(table)
        (self.folder / "cache/tutti").mkdir(parents=True, exist_ok=True)
        (self.folder / "cache/tutti" / name).write_text(model)

    @tutti.needs_matplotlib
    def test_are_explained_and_drawn(self):
        picture = self.folder / "map.svg"
        out = self.run_here("tune", "--explain", self.table, "--svg", picture)
        self.assertIn("all_reduce native plain registered", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 120)
        self.assertEqual(xml.etree.ElementTree.parse(picture).getroot().tag.rpartition("}")[2], "svg")

    def test_are_merged(self):
        other = self.folder / "other.json"
        self.table.rename(other)
        self.tune("broadcast", "--model", "none")
        self.run_here("tune", "--merge", other, self.table)
        self.check_sections([*BOTH, ("broadcast", "registered"), ("broadcast", "unregistered")])

    def test_follow_from_the_model_only(self):
        self.table.unlink()  # the model is kept for this machine
        out = self.run_here("tune", "all_reduce", "--model-only", "--for-ranks", 2, "-b", 8, "-e", "1M", "-f", 8)
        self.assertIn(" predicted ", out)
        self.check_sections([("all_reduce", "registered"), ("all_reduce", "unregistered")])

    def predict(self, *words, code=0):
        """The topologies of the predicted sections, and the output."""
        words = ["tune", "broadcast", "--model-only", "-b", 8, "-e", "2K", "-f", 16, "--buffers", "unregistered", *words]
        done = tutti.run(*words, "--table", self.table, **self.home)
        self.assertEqual(done.returncode, code, done.stderr)
        topologies = {section["setting"]["ranks"]: section["setting"]["topology"] for section in self.sections()}
        return topologies, done.stdout + done.stderr

    def test_of_any_number_of_equal_hosts_follow_from_a_model_of_several(self):
        table = json.loads(self.table.read_text())
        model = json.loads(table["model"])
        tariff = next(iter(model["within"].values()))
        model["within"] = model["across"] = {"mpi/unregistered": tariff}
        model |= {"fingerprint": "of two hosts", "host": "one host", "cores": 4}
        table |= {"model": json.dumps(model, indent=1), "sections": []}
        self.table.write_text(json.dumps(table))
        found, _ = self.predict("--for-ranks", "2,4,6", "--ranks-per-host", 2, "--transport", "mpi")
        self.assertEqual(found, {2: "one host"} | {2 * hosts: sha256("\n".join(["one host"] * hosts)) for hosts in (2, 3)})

        del model["host"]  # they were not alike
        table["model"] = json.dumps(model, indent=1)
        self.table.write_text(json.dumps(table))
        _, said = self.predict("--for-ranks", 4, "--ranks-per-host", 2, code=64)
        self.assertIn("equal hosts", said)

    def test_give_the_reason_if_the_model_does_not_apply(self):
        table = json.loads(self.table.read_text())
        model = json.loads(table["model"])
        model["cores"] = 4  # within a host, a core for each rank
        table |= {"model": json.dumps(model, indent=1), "sections": []}
        for words, reason in [(["--for-ranks", 4, "--ranks-per-host", 2], "within a host"),
                              (["--for-ranks", 8], "core for each"),
                              (["--for-ranks", 2, "--transport", "ucx"], "other transports")]:
            with self.subTest(reason):
                self.table.write_text(json.dumps(table))
                self.assertIn(reason, self.predict(*words, code=64)[1])

    def bench(self, *words, calls=1):
        file = self.folder / "r.jsonl"
        out = self.run_here("bench", "all_reduce", "-b", 8, "-e", "2K", "-f", 16, "--transport", "shm", *TWO_THREADS, *QUICK[2:],
                            "-n", calls, "--json", file, *words)
        return out, tutti.points(file)

    def test_choose_for_auto(self):
        out, points = self.bench("--algo", "auto", "--buffers", "registered,unregistered")
        self.assertIn("  auto: ", out)
        self.assertEqual(len(points), 3 * 2 * 2)  # sizes, in place or not, kinds of buffers
        for point in points:
            self.assertEqual((point["key"]["algo"], point["check"]["state"]), ("auto", "ok"))
            self.assertRegex(point["choice"], "/shm$")

    def test_have_a_model_that_bench_predicts_with(self):
        out, points = self.bench("--algo", "ring,tree", "--inplace", "no")
        self.assertIn("# Model ", out)
        self.assertTrue(all(point["predicted_ns"] > 0 for point in points))
        out, points = self.bench("--algo", "ring", "--inplace", "no", "--model", "none")
        self.assertNotIn("# Model ", out)

    def test_are_written_by_learn(self):
        out, points = self.bench("--algo", "learn", "--inplace", "no", calls=3000)
        self.assertIn("t.json", out)
        self.assertTrue(all(point["check"]["state"] == "ok" for point in points))
        self.check_sections(BOTH)

    def test_of_another_topology_are_refused_unless_asked_for(self):
        text = json.loads(self.table.read_text())
        for section in text["sections"]:
            section["setting"]["topology"] = "0123456789abcdef" * 4
        self.table.write_text(json.dumps(text))
        self.refused("bench", "all_reduce", *TWO_THREADS, *QUICK, "--algo", "auto",
                     key="--table-anyway")
        self.bench("--algo", "auto", "--table-anyway")

    def test_that_are_damaged_are_refused_with_the_place(self):
        whole = self.table.read_text()
        self.table.write_text(whole[:len(whole) // 2])
        for words in (["bench", "all_reduce", *TWO_THREADS, *QUICK, "--algo", "auto"],
                      ["tune", "--merge", str(self.table)], ["tune", "scatter", *SMALL, *TWO_THREADS]):
            with self.subTest(words[0]):
                self.refused(*words, key="t.json:")
        self.assertEqual(self.table.read_text(), whole[:len(whole) // 2])


@tutti.needs_mpi
class UnderMpirun(Tune):
    def run_ranks(self, *words):
        return self.ok(*words, "--table", self.table, run=lambda *all_words, **more: tutti.run_ranks(2, *all_words, **more), **self.home)

    def test_choices_are_validated_against_the_library_and_again_in_another_launch(self):
        small = ["-b", 8, "-e", "2K", "-f", 16, "--segment", "8K", "--radix", 2, "--channels", 1, "--model", "none"]
        self.run_ranks("tune", "all_reduce", *small)
        first = self.launches()
        self.run_ranks("tune", "all_reduce", *small, "--hold-out", "only")
        self.assertTrue(first and self.launches(also_lost=True) - first)
        self.assertFalse(self.launches() & first)
        done = self.run_ranks("bench", "all_reduce", "--algo", "auto", "-e", "2K", *QUICK)
        self.assertIn(tutti.ALL_RIGHT, done)

    def test_needs_no_model_if_only_the_library_takes_part(self):
        out = self.run_ranks("tune", "all_reduce", "-b", 8, "-e", "2K", "-f", 16, "--transport", "none", "--buffers", "unregistered")
        self.assertNotIn("calibrated", out)
        only, = self.sections()
        self.assertEqual({choice["choice"]["impl"] for choice in only["ranges"]}, {"mpi"})

    def launches(self, also_lost=False):
        """Sessions of the validations that choices have passed; also of those that the library has won."""
        return {evidence["hold_out"]["launch"] for section in self.sections() for choice in section["ranges"]
                for evidence in choice.get("evidence", []) if "hold_out" in evidence
                if also_lost or choice["origin"] != "kept"}


if __name__ == "__main__":
    unittest.main()
