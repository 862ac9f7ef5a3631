# SPDX-License-Identifier: Apache-2.0
"""Tests `tutti doctor` on prepared machines: copies of /proc and /sys, and this machine with other limits."""
import json
import os
import subprocess
import unittest

import tutti

HARMLESS = {"proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\n", "proc/loadavg": "0.01 0.02 0.00 1/99 7",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "intel_pstate",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave"}
# A check finds something on a machine with these files.
PREPARED = [
    ("huge pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}),
    ("clock", {"sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm"}),
    ("governor", {"sys/devices/system/cpu/cpu0/cpufreq/scaling_driver": "acpi-cpufreq"}),
    ("free memory", {"proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 90000 kB\n"}),
    ("other programs", {"proc/loadavg": "70.5 60.0 50.0 9/99 7"}),
    ("CPU time", {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "50000 100000"}),
    ("PCIe lanes", {f"sys/bus/pci/devices/0000:01:00.0/{name}": text for name, text in
                    {"class": "0x030200", "current_link_width": "8", "max_link_width": "16"}.items()}),
    ("NCCL", {"etc/nccl.conf": "# comment\nNCCL_P2P_DISABLE=1\n"}),
]


class Doctor(tutti.Folder):
    def prepared(self, files):
        root = self.folder / "root"
        for name, text in {**HARMLESS, **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n", encoding="utf-8")
        return root

    def found(self, done):
        """The checks that have found something, after the exit code has been compared."""
        names = [line[2:].split(":")[0] for line in done.stdout.splitlines() if line.startswith("! ")]
        self.assertEqual(done.returncode, 1 if names else 0, done.stderr)
        return names

    def test_says_only_that_a_healthy_machine_is_so(self):
        done = tutti.run("doctor", "--root", self.prepared({}))
        self.assertEqual(self.found(done), [])
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertRegex(done.stdout, r"^# 1 rank, .*: 0 settings ")

    def test_names_what_is_wrong_on_prepared_machines(self):
        for check, files in PREPARED:
            with self.subTest(check=check):
                done = tutti.run("doctor", "--root", self.prepared(files))
                self.assertEqual(self.found(done), [check])
                self.assertIn("    fix: ", done.stdout)
                subprocess.run(["rm", "-r", self.folder / "root"], check=True)

    def test_prints_all_answers_as_json(self):
        done = tutti.run("doctor", "--json", "--root", self.prepared(dict(PREPARED[0][1])))
        self.assertEqual(done.returncode, 1, done.stderr)
        host, = json.loads(done.stdout)
        self.assertEqual([answer["check"] for answer in host["answers"] if "cure" in answer], ["huge pages"])
        self.assertIn("clock", [answer["check"] for answer in host["answers"]])

    @tutti.needs_mpi
    def test_finds_ranks_that_are_bound_to_one_core(self):
        if os.cpu_count() < 2:
            self.skipTest("there is only one core")
        first = min(os.sched_getaffinity(0))
        done = subprocess.run([tutti.MPI_RUN, "2", "taskset", "-c", str(first), tutti.EXECUTABLE, "doctor", "--json"],
                              text=True, capture_output=True, check=False, timeout=60, env=tutti.CLEAN)
        answers = {one["check"]: one for one in json.loads(done.stdout)[0]["answers"]}
        self.assertIn("cure", answers["binding"])

    @tutti.needs_mpi
    def test_finds_settings_that_keep_ranks_of_a_host_off_shared_memory(self):
        done = tutti.run_ranks(2, "doctor", UCX_TLS="tcp,self", UCX_NET_DEVICES="mlx5_77:1", OMP_NUM_THREADS="64")
        found = self.found(done)
        for check in ("UCX within a host", "UCX devices", "threads"):
            self.assertIn(check, found)

    @unittest.skipUnless(os.geteuid() == 0, "a small /dev/shm needs root")
    def test_finds_a_small_shared_memory(self):
        done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64M none /dev/shm && exec "$0" doctor',
                               str(tutti.EXECUTABLE)], text=True, capture_output=True, check=False, timeout=60)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("mounting is not allowed here: " + done.stderr.strip())
        self.assertIn("shared memory size", self.found(done))


if __name__ == "__main__":
    unittest.main()
