# SPDX-License-Identifier: Apache-2.0
"""Limits of the machine: measured, stored, and compared with results. No time is checked."""
import json
import os
import unittest

import tutti
from tutti import QUICK

LIMITS = ("limits", "--ranks", 2, "--budget", "0.2s")
KEPT = (*LIMITS, "--keep-anyway")  # other tests may use the cores
BENCH = ("bench", "all_reduce", "--ranks", 2, "-b", 8, "-e", "4K", "-f", 512, "--algo", "ring", "--transport", "shm",
         "--baseline", "none", *QUICK)


class Limits(tutti.Folder):
    def run_here(self, *words):
        done = tutti.run(*words, XDG_CACHE_HOME=str(self.folder / "cache"), TUTTI_LIMITS="stored")
        self.assertEqual((done.returncode, tutti.said(done.stderr)), (0, []), done.stdout)
        # Only 'tutti limits' itself needs no line that says what takes seconds.
        is_measured = words[0] != "limits" and "measured now" in done.stdout
        self.assertEqual("measuring the limits" in done.stderr, is_measured, done.stderr)
        return done.stdout

    def stored(self):
        return list((self.folder / "cache").glob("tutti/limits-*.json"))

    def shares(self, table):
        return [line.split()[-1] for line in table.splitlines() if line.startswith(" ")]

    def test_are_a_table_and_a_record(self):
        file = self.folder / "l.jsonl"
        table = self.run_here(*LIMITS, "--json", file)
        self.assertIn("GB/s", table)
        self.assertIn("all_reduce", table)
        session, launch, limits, end = tutti.records(file)
        self.assertEqual([record["kind"] for record in (session, launch, limits, end)],
                         ["session", "launch", "limits", "end"])
        self.assertEqual(session["argv"][:2], ["tutti", "limits"])
        self.assertEqual(limits["topo_sha256"], launch["hosts"][0]["topo_sha256"])

    def test_are_stored_for_the_bench_under_the_fingerprint_of_the_host(self):
        self.run_here(*KEPT)
        stored, =  self.stored()
        self.assertEqual(stored.name, f"limits-{json.loads(stored.read_text())['topo_sha256']}.json")
        file = self.folder / "r.jsonl"
        table = self.run_here(*BENCH, "--json", file)
        self.assertIn(f"from {stored}\n", table)
        self.assertEqual(len(self.shares(table)), 2)
        self.assertNotIn("N/A", self.shares(table))
        for point in tutti.points(file):
            self.assertAlmostEqual(point["pct_of_limit"], 100 * point["limit_ns"] / point["t_ns"]["p50"], delta=0.2)

    def test_are_not_stored_when_asked_so(self):
        self.run_here(*LIMITS, "--no-store")
        self.assertEqual(self.stored(), [])

    def test_can_be_given_as_a_file_or_be_none(self):
        file = self.folder / "l.jsonl"
        self.run_here(*LIMITS, "--no-store", "--json", file)
        self.assertNotIn("N/A", self.shares(self.run_here(*BENCH, "--limits", file)))
        self.assertEqual(self.shares(self.run_here(*BENCH, "--limits", "none")), ["N/A", "N/A"])
        self.assertEqual(self.stored(), [])

    def test_of_a_busy_machine_are_used_but_only_stored_if_asked(self):
        with tutti.busy_cores():
            self.run_here(*LIMITS)
            self.assertEqual(self.stored(), [])
            self.assertNotIn("N/A", self.shares(self.run_here(*BENCH)))
            self.assertEqual(self.stored(), [])
            self.run_here(*KEPT)
        self.assertEqual(len(self.stored()), 1)

    def store_of_a_slow_machine(self):
        """A file of limits with each figure a billion times as bad."""
        self.run_here(*KEPT)
        stored, =  self.stored()
        limits = json.loads(stored.read_text())
        for curve in (*limits["curves"], limits["staged"], limits["single_copy"]):
            curve["GBps"] = [rate * 1e-9 for rate in curve["GBps"]]
        for pair in limits["hand_overs"]:
            pair.update(one_way_ns=pair["one_way_ns"] * 1e9, exchange_ns=pair["exchange_ns"] * 1e9)
        limits["single_copy_ns"] *= 1e9
        stored.write_text(json.dumps(limits) + "\n", encoding="utf-8")
        return stored, limits

    def test_that_are_beaten_are_measured_and_stored_again(self):
        stored, slow = self.store_of_a_slow_machine()
        file = self.folder / "r.jsonl"
        table = self.run_here(*BENCH, "--json", file)
        for share in self.shares(table):
            self.assertRegex(share, r"^\d+!$")
        self.assertRegex(table, "# Limits +: 4 of 4 ")
        self.assertIn(str(stored), table)
        fast = json.loads(stored.read_text())
        self.assertGreater(min(fast["curves"][0]["GBps"]), 1000 * max(slow["curves"][0]["GBps"]))
        found = tutti.records(file)
        self.assertEqual([record["kind"] for record in found if "limits" in record["kind"]], ["limits", "lower_limits", "limits"])
        lower, = (record["limit_ns"] for record in found if record["kind"] == "lower_limits")
        for point in tutti.points(file):
            self.assertLess(lower[point["point"]], 1e-6 * point["limit_ns"])

    def test_of_a_file_that_are_beaten_are_marked_only(self):
        stored, slow = self.store_of_a_slow_machine()
        given = self.file("given.jsonl", stored.read_text())
        file = self.folder / "r.jsonl"
        table = self.run_here(*BENCH, "--limits", given, "--json", file)
        self.assertRegex(table, "# Limits +: 4 of 4 ")
        self.assertEqual([record["kind"] for record in tutti.records(file) if "limits" in record["kind"]], ["limits"])
        self.assertEqual(json.loads(stored.read_text()), slow)

    def test_are_measured_again_if_the_stored_ones_are_damaged(self):
        self.run_here(*KEPT)
        stored, =  self.stored()
        stored.write_text("{", encoding="utf-8")
        table = self.run_here(*BENCH)
        self.assertIn(f"{stored}:1: not JSON", table)
        self.assertNotIn("N/A", self.shares(table))

    def test_are_measured_again_if_the_stored_ones_are_of_another_host_or_of_fewer_cores(self):
        self.run_here(*KEPT)
        stored, =  self.stored()
        limits = json.loads(stored.read_text())
        for field, value in (("topo_sha256", "0" * 64), ("cores", limits["cores"] - 1)):
            with self.subTest(field):
                stored.write_text(json.dumps(limits | {field: value}) + "\n", encoding="utf-8")
                self.assertNotIn(f"from {stored}\n", self.run_here(*BENCH))

    @unittest.skipIf(os.cpu_count() == 1, "there is one core")
    def test_are_measured_again_if_the_stored_ones_lack_rewritten_input(self):
        self.run_here(*KEPT)
        stored, =  self.stored()
        limits = json.loads(stored.read_text())
        earlier = limits | {"curves": [curve for curve in limits["curves"] if not curve["pass"].endswith("_rewritten")]}
        self.assertEqual(len(limits["curves"]) - len(earlier["curves"]), 2)
        stored.write_text(json.dumps(earlier) + "\n", encoding="utf-8")
        self.run_here(*BENCH)
        self.assertEqual(len(json.loads(stored.read_text())["curves"]), len(limits["curves"]))


if __name__ == "__main__":
    unittest.main()
