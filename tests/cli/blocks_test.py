# SPDX-License-Identifier: Apache-2.0
"""Collectives whose blocks have lengths of their own: all_to_all_v and the like in every command."""
import csv
import json
import unittest

import tutti
from tutti import QUICK

WITH_LENGTHS = tuple(f"{name}_v" for name in ("reduce_scatter", "all_gather", "scatter", "gather", "all_to_all"))
RULES = "uniform,skewed,one-giant,zeros,next,random:7"
LINEAR = ("--algo", "linear", "--transport", "shm", "--baseline", "none")


class Bench(tutti.Folder):
    def points(self, *words, run=tutti.run, **how):
        self.results.unlink(missing_ok=True)
        table = self.ok("bench", *words, *QUICK, "--json", self.results, run=run, **how)
        return table, tutti.points(self.results)

    def test_measures_every_rule_and_checks_the_results(self):
        for collective in WITH_LENGTHS:
            with self.subTest(collective):
                table, points = self.points(collective, "--blocks", RULES, "--counts", "0,1000", "--ranks", 3, "-r", 1, "--algo", "linear",
                                            "--transport", "shm,loopback", "--baseline", "none", timeout=300)
                self.assertEqual([line.split(": ")[1] for line in table.splitlines() if line.startswith("# blocks: ")], RULES.split(","))
                self.assertIn(tutti.ALL_RIGHT, table)
                self.assertEqual({point["key"]["blocks"] for point in points}, set(RULES.split(",")))
                self.assertEqual({point["key"]["coll"] + "_v" for point in points}, {collective})
                self.assertEqual({point["check"]["state"] for point in points if "skipped" not in point}, {"ok"})

    def test_sees_wrong_results(self):
        done = tutti.run("bench", "all_gather_v", "--blocks", "skewed", "--counts", 1000, "--ranks", 3, "--algo", "ring",
                         "--transport", "loopback", "--baseline", "none", "--fault", "corrupt:from=1", *QUICK)
        self.assertEqual(done.returncode, 2, done.stdout)

    def test_has_the_sizes_of_equal_blocks(self):
        for collective in WITH_LENGTHS:
            _, points = self.points(collective, "--blocks", "random:1", "-b", "1K", "-e", "4K", "--ranks", 2, *LINEAR)
            self.assertEqual({(point["key"]["bytes"], point["key"]["count"]) for point in points}, {(1024, 128), (4096, 512)})

    def test_names_the_call_with_its_rule_in_files(self):
        file = self.folder / "t.csv"
        self.points("gather_v", "--blocks", "skewed", "-b", 8, "-e", 8, "--ranks", 2, "--inplace", "no", *LINEAR, "--csv", file)
        with open(file, encoding="utf-8", newline="") as lines:
            row, = csv.DictReader(lines)
        self.assertEqual((row["coll"], row["blocks"]), ("gather", "skewed"))
        self.assertEqual(row["metric"], "gather_v 8 float root 0 registered skewed linear (shm), 2 ranks")
        self.assertIn("# blocks: skewed\n", self.ok("show", self.results))

    @tutti.needs_mpi
    def test_compares_with_the_library(self):
        for collective in WITH_LENGTHS:
            with self.subTest(collective):
                _, points = self.points(collective, "--blocks", "skewed,zeros", "--counts", 999, "--algo", "linear", "--transport", "shm",
                                        "--baseline", "mpi", run=lambda *words, **how: tutti.run_ranks(2, *words, **how))
                self.assertEqual({point["check"]["state"] for point in points}, {"ok"})
                self.assertEqual([point["key"]["impl"] for point in points].count("mpi"), 2 * 2)

    def test_learns_nothing_but_right_results(self):
        table, _ = self.points("all_to_all_v", "--blocks", RULES, "--counts", 100, "--ranks", 2, "--algo", "learn", "--baseline", "none",
                               "--table", self.folder / "t.json")
        self.assertIn(tutti.ALL_RIGHT, table)

    def test_resumes(self):
        words = ("bench", "all_to_all_v", "--blocks", "uniform,zeros", "-b", 64, "-e", 256, "--ranks", 2, *LINEAR, *QUICK, "--json", self.results)
        self.ok(*words)
        lines = self.results.read_text().splitlines(keepends=True)
        kept = [line for line in lines if '"kind":"end"' not in line and '"blocks":"zeros"' not in line]
        self.results.write_text("".join(kept))
        self.ok("bench", "--resume", self.results)
        self.assertEqual(len(tutti.points(self.results)), 2 * 2 * 2)


class CountsFromAFile(tutti.Folder):
    MATRIX = "0 10\n20 2\n"

    def bytes_of(self, *words, collective="all_to_all_v", ranks=2):
        self.results.unlink(missing_ok=True)
        self.ok("bench", collective, *words, "--ranks", ranks, "--inplace", "no", *LINEAR, *QUICK, "--json", self.results)
        return [(point["key"]["blocks"].split("/")[-1], point["key"]["bytes"]) for point in tutti.points(self.results)]

    def test_are_used_as_they_are_without_sizes(self):
        counts = self.file("counts.txt", self.MATRIX)
        self.assertEqual(self.bytes_of("--counts-from", counts, "-d", "double"), [("counts.txt", 8 * 32 // 2)])
        steps = self.file("steps.txt", self.MATRIX + "\n1 1\n1 1\n")
        self.assertEqual(self.bytes_of("--counts-from", steps), [("steps.txt:1", 64), ("steps.txt:2", 8)])
        line = self.file("line.json", "[1, 0, 4]")
        self.assertEqual(self.bytes_of("--counts-from", line, collective="gather_v", ranks=3), [("line.json", 20)])

    def test_are_scaled_to_sizes(self):
        counts = self.file("counts.txt", self.MATRIX)
        self.assertEqual(self.bytes_of("--counts-from", counts, "-b", "1K", "-e", "4K"), [("counts.txt", 1024), ("counts.txt", 4096)])
        self.assertEqual(self.bytes_of("--counts-from", counts, "--counts", 8), [("counts.txt", 64)])

    def test_must_fit(self):
        counts = self.file("counts.txt", self.MATRIX)
        self.fails(64, "bench", "all_to_all_v", "--counts-from", counts, "--ranks", 3, key="3 rows of 3")
        self.fails(64, "bench", "all_gather_v", "--counts-from", counts, "--ranks", 2, key="one row of 2")
        self.fails(64, "bench", "all_to_all_v", "--counts-from", counts, "--blocks", "skewed", key="--blocks")
        self.fails(64, "bench", "all_to_all_v", "--counts-from", self.folder / "none", key="--counts-from")


class OtherCommands(tutti.Folder):
    def test_verify_calls_every_algorithm_with_random_lengths(self):
        text = self.ok("verify", "gather_v", "--ranks", "1..3", timeout=300)
        rows = json.loads(self.ok("list", "--json"))["algorithms"]["gather_v"]
        self.assertEqual(text.count("gather_v "), len(rows))
        self.assertEqual(text.count("; right in "), len(rows), text)
        for collective in WITH_LENGTHS:
            text = self.ok("verify", collective, "--algo", "linear", "--ranks", 3, timeout=300)
            self.assertIn("; right in ", text)

    def test_tune_takes_the_collective_with_equal_blocks(self):
        table = self.folder / "t.json"
        self.ok("tune", "gather_v,gather", "-b", 8, "-e", "1K", "-f", 128, "--algo", "linear,tree", "--transport", "shm", "--ranks", 2,
                "--baseline", "none", "--model", "none", "--table", table, timeout=300)
        subjects = {section["subject"]["collective"] for section in json.loads(table.read_text())["sections"]}
        self.assertEqual(subjects, {"gather"})
        self.results.unlink(missing_ok=True)
        self.ok("bench", "gather_v", "--blocks", "skewed", "-b", 8, "-e", 8, "--ranks", 2, "--algo", "auto", "--baseline", "none", "--table", table,
                *QUICK, "--json", self.results)
        self.assertTrue(all(point["choice"] for point in tutti.points(self.results)))

    def test_show_draws_the_schedule_of_both(self):
        self.assertEqual(self.ok("show", "ring", "all_gather_v", "--ranks", 4), self.ok("show", "ring", "all_gather", "--ranks", 4))


class Refusals(tutti.Folder):
    def test_name_the_collective_that_has_lengths(self):
        self.fails(64, "bench", "all_gather", "--blocks", "skewed", key="use all_gather_v")
        self.fails(64, "bench", "all_reduce", "--blocks", "skewed", key="all_to_all_v")
        self.fails(64, "bench", "all_gather_v", "--blocks", "skew", key="'skewed'")
        self.fails(64, "bench", "all_gather_v", "--blocks", "random:x", key="random:1")


if __name__ == "__main__":
    unittest.main()
