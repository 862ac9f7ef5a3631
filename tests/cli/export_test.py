# SPDX-License-Identifier: Apache-2.0
"""Tables as files of other libraries: written, explained, refused."""
import json
import re
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
        for key, words in (("--base", ("--to", "mpich")),
                           ("--gpu", ("--to", "mscclpp-cutoffs", "--buffers", "unregistered")), ("openmpi4", ("--to", "openmpi")),
                           ("device", ("--to", "nccl-csv")), ("ranks", ("--to", "ucc", "--ranks", 3)),
                           ("topology", ("--to", "ucc", "--topology", "ff")), ("--base", ("--to", "ucc", "--base", table)),
                           ("libmpich", ("--to", "mpich", "--base", tutti.EXECUTABLE)), ("nowhere", ("--to", "mpich", "--base", "nowhere"))):
            with self.subTest(key=key, words=words):
                self.fails(64, "export", table, *words, key=key)
        if tutti.ucc_missing():
            self.fails(64, "export", table, "--to", "ucc", "--check", "--launcher", "x", key="no UCC")
        self.fails(64, "export", self.folder / "none.json", "--to", "ucc", key="none.json")
        self.fails(64, "export", table, "--to", "openmpi4", "-o", "/proc/rules", key="/proc/rules")


def open_mpi():
    """The major version of this build's Open MPI, or 0."""
    found = None if tutti.mpi_missing() else re.search(r"MPI Open MPI (\d+)\.", tutti.run("--version").stdout)
    return int(found[1]) if found else 0


def open_mpi_4():
    return open_mpi() == 4


class Checks(Exports):
    """Rules of a library that runs with them."""
    ALGORITHMS = {}
    SIZES = (0, 64, 512, 4096, 32768)

    def all_rules(self, *more):
        """A table with five rules for each collective on 2 and 4 ranks."""
        return self.table(*(section(collective, ranks, {size: self.choice(names[(i + ranks) % len(names)]) for i, size in enumerate(self.SIZES)})
                            for collective, names in self.ALGORITHMS.items() for ranks in (2, 4)), *more)

    def check(self, table, launcher):
        return tutti.run("export", table, "--to", self.to(), "--commutative", "--check", "--launcher", launcher, timeout=300)

    def expect_all_obeyed(self, table, rules):
        done = self.check(table, f"{tutti.MPI_RUN} 4")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        calls = [int(number) for number in re.findall(r": (\d+) calls? obeyed it", done.stdout)]
        self.assertEqual(len(calls), rules, done.stdout)
        self.assertGreaterEqual(sum(calls), 200)
        untouched, touched, unchecked = map(int, re.findall(r"(\d+)", done.stdout.splitlines()[-1]))
        self.assertGreaterEqual(untouched, 30)
        self.assertEqual(touched, 0)
        self.assertGreater(unchecked, 0)  # those on 5 ranks

    def expect_hidden(self, table, setting):
        done = self.check(table, f"env {setting} {tutti.MPI_RUN} 2")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("NOT obeyed"), 2, done.stdout)


@unittest.skipUnless(open_mpi(), "this build is not for Open MPI")
class CheckOpenMpi(Checks):
    ALGORITHMS = {"all_reduce": ("recursive-doubling", "ring", "rabenseifner", "nonoverlapping"),
                  "reduce_scatter": ("recursive-halving", "recursive-doubling", "basic-linear", "butterfly"),
                  "all_gather": ("bruck", "ring", "neighbor", "linear"), "broadcast": ("binomial", "pipeline", "chain", "binary-tree"),
                  "reduce": ("binomial", "linear", "pipeline", "chain"), "all_to_all": ("pairwise", "linear", "linear-sync", "modified-bruck")}
    choice = staticmethod(mpi)

    def to(self):
        return f"openmpi{open_mpi()}"

    def test_shows_that_every_measured_call_takes_the_named_algorithm_and_others_the_default(self):
        table = self.all_rules(section("scatter", 4, {0: mpi("binomial")}), section("gather", 4, {0: mpi("basic-linear")}),
                               section("barrier", 4, {0: mpi("tree")}))
        self.expect_all_obeyed(table, 6 * 2 * 5 + 3)

    def test_finds_rules_that_another_component_hides(self):
        self.expect_hidden(self.small(), "OMPI_MCA_coll_tuned_priority=0")

    def test_says_what_it_could_not_check(self):
        table = self.table(*(section("all_reduce", ranks, {0: mpi("recursive-doubling"), 4096: mpi("ring")}) for ranks in (2, 4)))
        done = self.check(table, f"{tutti.MPI_RUN} 2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((done.stdout.count("obeyed it"), done.stdout.count("too few ranks")), (2, 2))

    def test_is_refused_without_the_means(self):
        table = self.small()
        other = "openmpi4" if open_mpi() == 5 else "openmpi5"
        for code, key, words in ((64, "--launcher", ("--to", self.to(), "--check")),
                                 (64, "openmpi4", ("--to", "intelmpi", "--check", "--launcher", "x")),
                                 (3, "Open MPI", ("--to", other, "--check", "--launcher", f"{tutti.MPI_RUN} 2"))):
            with self.subTest(words=words):
                self.fails(code, "export", table, *words, key=key)


@unittest.skipIf(tutti.ucc_missing(), tutti.ucc_missing())
class CheckUcc(Checks):
    ALGORITHMS = {"all_reduce": ("knomial", "sra-knomial", "dbt"), "reduce_scatter": ("ring", "knomial"),
                  "all_gather": ("knomial", "ring", "neighbor", "bruck", "sparbit"), "broadcast": ("knomial", "sag-knomial", "dbt"),
                  "reduce": ("knomial", "dbt", "srg"), "all_to_all": ("pairwise", "bruck")}

    @staticmethod
    def choice(algorithm):
        return {"impl": "ucc", "algorithm": algorithm}

    @staticmethod
    def to():
        return "ucc"

    def test_shows_that_every_measured_call_obeys_its_rule_and_others_none(self):
        self.expect_all_obeyed(self.all_rules(), 6 * 2 * 5)

    def test_finds_rules_that_another_setting_hides(self):
        table = self.table(section("all_reduce", 2, {0: self.choice("dbt"), 4096: self.choice("knomial")}))
        self.expect_hidden(table, "UCC_CL_BASIC_TUNE=allreduce:0")


if __name__ == "__main__":
    unittest.main()
