# SPDX-License-Identifier: Apache-2.0
"""The scripts that measure for hours, as far as seconds suffice: their pages from stored records, and their smallest runs."""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from folder import Folder

ROOT = Path(__file__).resolve().parents[2]


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def rows_of(page):
    """[{name of the column: cell}] of the tables of a page; of two columns of one name, the second is "NAME 2"."""
    rows, names = [], None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            names = None
        elif names is None:
            names = [name if name not in cells[:place] else f"{name} 2" for place, name in enumerate(cells)]
        elif not cells[0].startswith("--"):
            rows.append(dict(zip(names, cells, strict=True)))
    return rows


class Pages(Folder):
    """No two values are the same, so that a swap of columns is seen."""

    def write(self, name, *records):
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def run_script(self, name, *words):
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts" / name, *words], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return rows_of(done.stdout)

    def test_of_compare_overlap(self):
        def step(way, compute, communication, exposed, overlap, wrong):
            return {"kind": "step", "key": {"way": way, "model": "resnet18", "nranks": 3, "compute": "burn", "settings": "bucket-cap=5M"},
                    "compute_ns": {"p50": compute}, "communication_ns": {"p50": communication}, "exposed_ns": {"p50": exposed}, "overlap": overlap,
                    "check": {"n_wrong": wrong}, "metrics": [{"name": "hideable_share", "value": 0.75}]}
        self.write("resnet18-burn.jsonl", step("ring/shm", 10e6, 2e6, 1e6, 0.5, 1), step("mpi", 11e6, 5e6, 4e6, 0.25, 2),
                   step("mpi-nonblocking", 12e6, 6e6, 5e6, 0.125, 4))
        self.assertEqual(self.run_script("compare_overlap", "--summarise", str(self.folder)), [{
            "model": "resnet18", "ranks": "3", "compute": "burn", "cap": "5M", "compute ms": "10.0", "best of ours": "ring/shm", "its comm": "2.00",
            "exposed": "1.000", "of MPI": "0.25", "MPI blocking": "4.000", "non-blocking": "5.000", "overlap": "0.50", "can be hidden": "0.75",
            "wrong": "7"}])

    def test_of_compare_hosts(self):
        def point(impl, algo, transport, p50, size=1 << 20, sent=0):
            return {"kind": "point", "key": {"impl": impl, "algo": algo, "transport": transport, "bytes": size, "inplace": False},
                    "t_ns": {"p50": p50}, "check": {"state": "ok"}, "wire": {"tx_bytes_per_call": sent, "rx_bytes_per_call": 1}}
        self.write("levels-2x2-slot.jsonl", point("tutti", "multi-rail", "mpi", 8e6, sent=(1 << 20) * 1.5), point("tutti", "chain", "mpi", 10e6),
                   point("mpi", "", "", 24e6))
        self.write("ucx-1x2.jsonl", point("tutti", "ring", "mpi", 3000, 8), point("tutti", "ring", "ucx", 2000, 8))
        self.write("hybrid-2x2.jsonl", point("tutti", "ring", "hybrid", 2000, 64), point("tutti", "ring", "ucx", 3000, 64),
                   point("tutti", "ring", "mpi", 4000, 64), point("tutti", "tree", "mpi", 2500, 64), point("mpi", "", "", 8000, 64))
        self.write("hybrid-2x2-han.jsonl", point("tutti", "ring", "hybrid", 3000, 64), point("mpi", "", "", 6000, 64), point("mpi", "ring", "", 9000, 64))
        levels, *transports, hybrid, _ = self.run_script("compare_hosts", "--summarise", "--out", str(self.folder))
        self.assertEqual(hybrid, {"bytes": "64", "hybrid, us": "2.0 (ring)", "same": "1.50", "best": "1.25", "library": "2.00"})
        self.assertEqual({name.removesuffix(", ms"): value for name, value in levels.items()}, {
            "bytes": "1048576", "ours": "8.00 (multi-rail)", "link": "110 %", "bytes 2": "1.50", "best flat": "10.00 (chain)",
            "ratio": "1.25", "the library's own": "24.00", "ratio 2": "3.00"})
        self.assertEqual(transports, [{"bytes": "8", "ring": "1.50"}, {"bytes": "geometric mean", "ring": "1.50"}])

    def test_of_check_compare(self):
        trials = [{"slowdown": 5.0, "ratio": ratio, "verdict": verdict, "named": named, "PLANTED_STEP": 1, "seconds": seconds}
                  for ratio, verdict, named, seconds in ((1.05, "slower", 1, 10), (1.06, "slower", 2, 20), (1.01, "undecided", None, 60))]
        row, = rows_of(script("check_compare").page_of(trials, [0.0, 5.0]))
        self.assertEqual(row, {"planted": "5 %", "trials": "3", "seen, median": "5.0 %", "slower": "2", "undecided": "1", "same": "0", "faster": "0",
                               "step named rightly": "1 of 2", "seconds": "30"})

    def test_of_check_compare_has_its_place_for_the_wait(self):
        """The script adds to a line of a source: its text is there once, with what the addition names."""
        check = script("check_compare")
        text = (ROOT / check.PLANTED_IN).read_text(encoding="utf-8")
        self.assertEqual((text.count(check.HOOK), "namespace tutti {\n" in text, "steps_.size()" in text), (1, True, True))


class TuningChoices(Folder):
    """Pages of check_tuning from planted launches. The regret of a ring is 10 %."""

    RING, TREE = ({"impl": "tutti", "algorithm": name, "transport": "shm"} for name in ("ring", "tree"))
    BOTH = {"ring": 110.0, "tree": 100.0}

    def section(self, *choices, ranks=2, **subject):
        """One choice for all sizes, or a second one for those from 12 bytes."""
        return {"setting": {"ranks": ranks, "ranks_per_host": ranks},
                "subject": {"collective": "all_reduce", "buffers": "unregistered"} | subject,
                "ranges": [{"from": 12 * place, "choice": choice} for place, choice in enumerate(choices)]}

    def table(self, name, *sections):
        path = self.folder / name
        path.write_text(json.dumps({"sections": sections}), encoding="utf-8")
        return path

    def launch(self, number, section, times_by_size):
        path = self.table(f"tuned-np2-{number}.json", section)
        records = [{"kind": "races", "ranks": 2, "ranks_per_host": 2}]
        for size, times in times_by_size.items():
            records += [{"kind": "judge", **section["subject"], "bytes": size, "impl": "tutti", "algorithm": name, "transport": "shm",
                         "t_ns": 4 * [time]} for name, time in times.items()]
        records.append({"kind": "cost", "samples": 1, "judge_samples": 10, "seconds": 1, "judge_seconds": 5})
        Path(f"{path}.races").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def check_tuning(self, *words):
        return subprocess.run([sys.executable, "-B", ROOT / "scripts/check_tuning", "--summarise", self.folder, *words], capture_output=True,
                              text=True, check=False, timeout=60)

    def rows(self, *words):
        """{launch: its row}; the last of the columns p95 is that of `apart`."""
        done = self.check_tuning(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {row["launch"]: row for row in rows_of(done.stdout) if "launch" in row}

    def apart(self):
        return {name: (row["cells"], row["apart: mean"], row["p95 2"]) for name, row in self.rows().items()}

    def expect_refusal(self, table, *keys):
        done = self.check_tuning("--choices", table)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (64, "", 1), done.stderr)
        for key in (str(table), *keys):
            self.assertIn(key, done.stderr)

    def test_of_a_single_launch_have_no_regret_by_others(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH})
        self.assertEqual(self.apart(), {"tuned-np2-1": ("1", "-", "-")})

    def test_of_a_cell_that_other_launches_lack_do_not_change_the_mean(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH, 16: self.BOTH})
        self.launch(2, self.section(self.RING), {8: self.BOTH})
        self.assertEqual(self.apart(), {"tuned-np2-1": ("2", "10.00%", "10.0%"), "tuned-np2-2": ("1", "10.00%", "10.0%"),
                                        "all of 2 ranks": ("1", "10.00%", "10.0%")})

    def test_of_launches_without_a_common_variant_do_not_change_the_mean(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH, 16: {"ring": 110.0}})
        self.launch(2, self.section(self.RING, self.TREE), {8: self.BOTH, 16: {"tree": 100.0}})
        self.assertEqual(self.apart()["all of 2 ranks"], ("2", "10.00%", "10.0%"))

    def test_of_another_table_are_those_for_the_same_ranks_and_types(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH})
        table = self.table("other", self.section(self.RING, ranks=4), self.section(self.TREE), self.section(self.RING, types="half"))
        self.assertEqual(self.rows("--choices", table)["tuned-np2-1"]["plain: mean"], "0.00%")
        self.assertEqual(self.rows()["tuned-np2-1"]["plain: mean"], "10.00%")

    def test_of_a_table_that_does_not_match_are_refused(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH})
        tree = self.section(self.TREE)
        self.expect_refusal(self.table("ranks", self.section(self.TREE, ranks=4)), "no section", "2 ranks")
        self.expect_refusal(self.table("buffers", self.section(self.TREE, buffers="registered")), "no section", "buffers of tuned-np2-1")
        self.expect_refusal(self.table("types", self.section(self.TREE, types="half")), "no section", "buffers of tuned-np2-1")
        self.expect_refusal(self.table("twice", tree, tree), "two sections", "all_reduce", "unregistered")

    def test_of_a_table_that_no_launch_measured_are_refused(self):
        self.launch(1, self.section(self.RING), {8: self.BOTH})
        self.expect_refusal(self.table("unknown", self.section({"impl": "mpi", "algorithm": "ring"})), "tuned-np2-1", "all choices")


class Runs(Folder):
    def small(self, name):
        """The script as a module, for the command and the build that are tested."""
        module = script(name)
        module.ROOT = self.folder
        (self.folder / "scripts").symlink_to(ROOT / "scripts")
        (self.folder / "build").symlink_to(Path(os.environ["TUTTI"]).parent)
        return module

    def expect_mpi(self):
        launcher = os.environ.get("TUTTI_MPIRUN", "mpirun")
        if shutil.which(launcher) is None:
            self.skipTest(f"there is no {launcher}")

    def test_of_compare_overlap(self):
        self.expect_mpi()
        overlap = self.small("compare_overlap")
        overlap.MODELS = {"resnet18": ("20ms", ["--min-steps", "1", "--warm-up", "1", "--max-time", "0.1s", "--algo", "ring"])}
        self.assertTrue(overlap.launch(2, "resnet18", "sleep", "25M", self.folder))
        row, = rows_of(overlap.page_of(self.folder))
        self.assertEqual([row[name] for name in ("model", "ranks", "compute", "cap", "best of ours", "wrong")],
                         ["resnet18", "2", "sleep", "25M", "ring/shm", "0"])

    def test_of_compare_hosts(self):
        self.expect_mpi()
        hosts = self.small("compare_hosts")
        launch = hosts.Launch("levels-1x2", 1, 2)
        options = hosts.parse(["--out", str(self.folder), "--seconds", "1"])
        self.assertEqual(hosts.measure(launch, options), 0, (self.folder / "levels-1x2.log").read_text(encoding="utf-8"))
        self.assertEqual(list(hosts.points_of(self.folder / "levels-1x2.jsonl")), [1 << 20, 1 << 22, 1 << 24])

    def test_of_check_compare(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts/check_compare", "--programs", os.environ["TUTTI"], "--trials", "1", "--slowdowns",
                               "100", "--budget", "3s", "--out", self.folder], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = rows_of((self.folder / "verdicts.md").read_text(encoding="utf-8"))
        self.assertEqual((row["planted"], row["trials"], row["same"], row["faster"]), ("100 %", "1", "0", "0"))

    def test_of_fault_table(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts/fault_table", "--command", "verify", "--fault", "SIGHUP", "--after", "0.3",
                               "--tutti", os.environ["TUTTI"]], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        codes, ends, *_ = rows_of(done.stdout)
        self.assertEqual(list(codes), ["fault", "verify"])
        self.assertEqual(list(ends), ["fault", "after", "last line"])

    def test_of_torch_train(self):
        try:
            import torch  # noqa: F401  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("no torch here; Debian has it in python3-torch")
        file = self.folder / "record.json"
        done = subprocess.run([sys.executable, "-B", ROOT / "scripts/lib/torch_train.py", "logistic", "512", "2", "0.1", file], capture_output=True,
                              text=True, check=False, timeout=60,
                              env=os.environ | {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"})
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual((record["network"], record["ranks"], record["batch"], record["epochs"], record["learning_rate"], record["parameters"]),
                         ("logistic", 1, 512, 2, 0.1, 650))
        self.assertEqual((len(record["step_ns"]), len(record["alone_ns"])), (4, 100))  # 1437 rows make two full batches
        self.assertGreater(record["accuracy"], 0.2)


if __name__ == "__main__":
    unittest.main()
