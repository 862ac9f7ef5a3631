# SPDX-License-Identifier: Apache-2.0
"""Energy and health of an invented machine: files in a folder, which change while a launch runs."""
import csv
import os
import threading
import unittest

import tutti

WATTS = 100
CPUS = range(os.cpu_count())
# Enough batches of calls, each long enough for a meter.
LONG = ("-b", "1M", "-e", "1M", "--batch-time", "20ms", "-n", "2000", "--inplace", "no", "--transport", "shm", "--baseline", "none",
        "--ranks", "2")


class Machine(threading.Thread):
    """Its meters count while this runs."""

    def __init__(self, root, **files):
        super().__init__(daemon=True)
        self.root, self.files, self.stopped = root, files, threading.Event()
        for name, number in files.items():
            self.write(name, number)

    def write(self, name, number):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(f"{number}\n", encoding="ascii")
        new.replace(path)  # never half written for a reader

    def run(self):
        while not self.stopped.wait(0.001):
            for name in self.files:
                self.files[name] += 1000 * WATTS
                self.write(name, self.files[name])

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


class Meters(tutti.Folder):
    def setUp(self):
        super().setUp()
        self.root, self.file = self.folder / "machine", self.folder / "r.jsonl"
        self.root.mkdir()

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="ascii")

    def bench(self, *words):
        done = tutti.run("bench", "all_reduce", "--algo", "ring,two-shot", *words, "--json", self.file, TUTTI_METERS_ROOT=str(self.root))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Energy(Meters):
    ZONE = "sys/class/powercap/intel-rapl:0"

    def test_of_a_call_is_in_the_table_in_records_and_in_csv(self):
        self.plant(f"{self.ZONE}/name", "package-0")
        with Machine(self.root, **{f"{self.ZONE}/energy_uj": 0}):
            table = self.bench(*LONG, "--csv", self.folder / "t.csv")
        points = tutti.points(self.file)
        self.assertEqual(len(points), 2)
        for point in points:
            self.assertGreater(point["energy_J"], 0)
            self.assertEqual([(one["host"], one["meter"]) for one in point["power"]], [(0, "package-0")])
        self.assertRegex(table, r"(?m)^#       size .* algorithm .* energy$")
        cells = {line.split()[-1] for line in table.splitlines() if line.startswith(" ")}
        self.assertEqual(cells, {f"{point['energy_J']:.4g}" for point in points})
        with open(self.folder / "t.csv", encoding="utf-8", newline="") as file:
            rows = [(float(row["energy_J"]), row["gpu_energy_J"]) for row in csv.DictReader(file)]
        self.assertEqual(rows, [(point["energy_J"], "") for point in points])

    def test_is_not_mentioned_without_meters(self):
        table = self.bench(*LONG)
        self.assertNotIn("energy", table)
        self.assertNotIn("RAPL", table)
        for point in tutti.points(self.file):
            self.assertFalse({"energy_J", "power"} & point.keys())

    def test_meters_are_listed(self):
        def listed():
            return tutti.run("list", TUTTI_METERS_ROOT=str(self.root)).stdout.partition("energy meters\n")[2]
        self.assertIn("MISSING: no RAPL", listed())
        self.plant(f"{self.ZONE}/name", "package-0")
        self.assertRegex(listed(), "MISSING: .*chmod a.r ")
        self.plant(f"{self.ZONE}/energy_uj", 5)
        self.assertRegex(listed(), r"^  package-0 +by RAPL\n\Z")


class Health(Meters):
    SHORT = ("-b", 64, "-e", 64, "-n", 200, "--transport", "loopback", "--baseline", "none", "--ranks", 2)

    def test_problems_are_reported_before_and_after_the_table(self):
        for cpu in CPUS:
            for name, kilohertz in (("scaling_cur_freq", 900_000), ("base_frequency", 2_400_000), ("cpuinfo_max_freq", 3_500_000)):
                self.plant(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}", kilohertz)
        with Machine(self.root, **{"sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": 5}):
            table = self.bench(*self.SHORT)
        slow, hot = r"host \S+: CPU \d+ .*900 .*3500 MHz[^\n]*", r"host \S+: [^\n]* \d+ times"
        self.assertRegex(table, rf"(?m)^# {slow}$(?s:.*)^#       size (?s:.*)^# but: {slow}$(?s:.*)^# but: {hot}$")
        launch, = (record for record in tutti.records(self.file) if record["kind"] == "launch")
        end, = (record for record in tutti.records(self.file) if record["kind"] == "end")
        clock = {"name": "clock_pct_of_base", "value": 38.0}
        for record, names in ((launch, {"clock_pct_of_base"}), (end, {"clock_pct_of_base", "thermal_throttles"})):
            host, = record["health"]
            wrong = {reading["name"]: reading for reading in host["readings"] if reading.get("wrong")}
            self.assertLessEqual(names, wrong.keys())
            self.assertLessEqual(clock.items(), wrong["clock_pct_of_base"].items())

    def test_is_not_mentioned_if_it_is_unknown(self):
        launch_lines = [line for line in self.bench(*self.SHORT).splitlines() if "host " in line and ": CPU" in line]
        self.assertEqual(launch_lines, [])
        self.assertNotIn("health", next(record for record in tutti.records(self.file) if record["kind"] == "launch"))


if __name__ == "__main__":
    unittest.main()
