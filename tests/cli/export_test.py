# SPDX-License-Identifier: Apache-2.0
"""Tables as files of other libraries: written, explained, refused."""
import json
import unittest

import tutti


def section(collective, ranks, choices, buffers="unregistered"):
    """A section with a choice from each size on, measured at 8 B and 64 KiB."""
    ranges = [{"from": size, "choice": choice, "origin": "measured", "evidence": []} for size, choice in choices.items()]
    for one, seen in ((ranges[0], 8), (ranges[-1], 65536)):
        one["evidence"].append({"size": seen, "time": {"p50": 2, "low": 1, "high": 3, "n": 9}})
    return {"setting": {"ranks": ranks, "ranks_per_host": ranks, "topology": "0123456789abcdef"},
            "subject": {"collective": collective, "buffers": buffers}, "ranges": ranges}


def mpi(algorithm):
    return {"impl": "mpi", "algorithm": algorithm}


class Exports(tutti.Folder):
    def table(self, *sections):
        return self.file("t.json", json.dumps({"format": "tutti-table", "version": 1, "sections": sections}))

    def small(self):
        return self.table(section("all_reduce", 2, {0: mpi("recursive-doubling"), 4096: mpi("ring")}))


class Files(Exports):
    def test_carry_notes_and_the_line_for_the_job_script(self):
        rules = self.folder / "new/rules.conf"
        out = self.ok("export", self.small(), "--to", "openmpi4", "-o", rules)
        text = rules.read_text()
        self.assertTrue(text.startswith(out))
        self.assertTrue(all(line.startswith("# ") for line in out.splitlines()))
        self.assertIn("0123456789ab", out)
        self.assertIn("--commutative", out)
        self.assertIn(f"OMPI_MCA_coll_tuned_dynamic_rules_filename={rules}\n", out)
        self.assertIn("4 3 0 0\n", text)

    def test_go_to_stdout_alone(self):
        done = tutti.run("export", self.small(), "--to", "engine-cutoffs", "--buffers", "unregistered")
        self.assertEqual(json.loads(done.stdout)["collectives"]["all_reduce"]["2"][0]["use"], "library")
        self.assertIn("# engine-cutoffs", done.stderr)

    def test_of_mpich_contain_its_own_selection(self):
        own = {"collective=allreduce": {"comm_type=intra": {"algorithm=own": {}}}, "collective=bcast": {}}
        base = self.file("libmpich.so", "\x7fELF\0" + json.dumps(own, separators=(",", ":")) + "\0")
        out = self.folder / "m.json"
        self.ok("export", self.small(), "--to", "mpich", "--base", base, "-o", out)
        text = out.read_text()
        self.assertEqual(json.loads(text)["collective=bcast"], {})
        self.assertIn("algorithm=MPIR_Allreduce_intra_recursive_doubling", text)
        self.assertIn("algorithm=own", text)

    def test_are_refused_in_one_line(self):
        table = self.small()
        for key, words in (("--base", ("--to", "mpich")), ("--channels", ("--to", "nccl-csv", "--buffers", "unregistered")),
                           ("--gpu", ("--to", "mscclpp-cutoffs", "--buffers", "unregistered")), ("openmpi4", ("--to", "openmpi")),
                           ("device", ("--to", "nccl-csv")), ("ranks", ("--to", "ucc", "--ranks", 3)),
                           ("topology", ("--to", "ucc", "--topology", "ff")), ("--base", ("--to", "ucc", "--base", table)),
                           ("libmpich", ("--to", "mpich", "--base", tutti.EXECUTABLE)), ("nowhere", ("--to", "mpich", "--base", "nowhere"))):
            with self.subTest(key=key, words=words):
                self.fails(64, "export", table, *words, key=key)
        self.fails(64, "export", self.folder / "none.json", "--to", "ucc", key="none.json")
        self.fails(64, "export", table, "--to", "openmpi4", "-o", "/proc/rules", key="/proc/rules")


if __name__ == "__main__":
    unittest.main()
