# SPDX-License-Identifier: Apache-2.0
"""The MPI library's own algorithms, forced one by one, run and give right results, or say why they
would not be what runs."""
import unittest

import tutti
from tutti import COLLECTIVES, QUICK

SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"


@tutti.needs_mpi
class Baselines(tutti.Folder):
    def bench(self, ranks, collective, baseline, *words, **environment):
        self.file = self.folder / "r.jsonl"
        self.file.unlink(missing_ok=True)
        return tutti.run_ranks(ranks, "bench", collective, "--algo", "none", "--baseline", baseline, *words,
                               *QUICK, "--json", self.file, **environment)

    def points(self, ranks, collective, baseline, *words, **environment):
        done = self.bench(ranks, collective, baseline, *words, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return tutti.points(self.file)

    def launch(self):
        return next(record for record in tutti.records(self.file) if record["kind"] == "launch")

    def needs_open_mpi(self):
        self.points(2, "all_reduce", "mpi", "--counts", 1)
        if self.launch()["mpi"]["vendor"] != "Open MPI":
            self.skipTest("about Open MPI")

    def test_run_every_algorithm_that_the_library_has(self):
        for collective in COLLECTIVES:
            for ranks in (2, 3):
                with self.subTest(collective=collective, ranks=ranks):
                    points = self.points(ranks, collective, "mpi/all", "--counts", "0,1,1001", "-r", ranks - 1)
                    forced = {point["key"]["algo"] for point in points if "skipped" not in point} - {""}
                    self.assertGreaterEqual(len(forced), 2)
                    self.assertTrue(all(name == name.lower() and "_" not in name for name in forced), forced)
                    for point in points:
                        self.assertTrue(point.get("skipped") or point["check"]["state"] == "ok", point)

    @unittest.skipIf(tutti.ucc_missing(), tutti.ucc_missing())
    def test_run_every_algorithm_of_ucc(self):
        for collective, least in {"all_reduce": 2, "all_gather": 3, "reduce_scatter": 1, "broadcast": 2, "reduce": 1, "all_to_all": 1,
                                  "gather": 0, "barrier": 0}.items():
            for ranks in (2, 3):
                with self.subTest(collective=collective, ranks=ranks):
                    sizes = () if collective == "barrier" else ("--counts", "1,1001,30030")
                    root = ("-r", ranks - 1) if collective in ("broadcast", "reduce", "gather") else ()
                    points = self.points(ranks, collective, "ucc/all", *sizes, *root)
                    ran = {point["key"]["algo"] for point in points if "skipped" not in point}
                    self.assertIn("", ran)
                    self.assertGreaterEqual(len(ran), 1 + least, ran)
                    for point in points:
                        self.assertTrue(point.get("skipped") or point["check"]["state"] == "ok", point)

    @unittest.skipIf(tutti.ucc_missing(), tutti.ucc_missing())
    def test_of_ucc_are_left_out_if_ucc_fails_on_one_rank(self):
        # Without an agreement, the other ranks would wait for rank 1 in UCC's exchange.
        on_rank_1 = 'test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 || export $0=none; exec "$@"'
        for variable, function in (("UCC_CLS", "ucc_lib_config_read"), ("UCC_TLS", "ucc_context_create")):
            with self.subTest(function=function):
                done = tutti.run(3, "sh", "-c", on_rank_1, variable, tutti.EXECUTABLE, "bench", "all_reduce", "--algo", "none", "--baseline",
                                 "mpi,ucc", "--counts", 10, *QUICK, program=tutti.MPI_RUN)
                self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
                self.assertIn(f"# skipped: ucc at 40: UCC: {function} failed: ", done.stdout)
                self.assertEqual([row[-4] for row in tutti.rows(done.stdout)], ["mpi"])

    def test_are_one_by_default_and_as_many_as_named(self):
        def names(baseline):
            return [point["key"]["algo"] for point in
                    self.points(2, "all_reduce", baseline, "--counts", 100, "--inplace", "no")]
        self.assertEqual(names("all"), [""])
        self.assertEqual(names("mpi"), [""])
        self.assertEqual(names("mpi/recursive-doubling"), ["recursive-doubling"])
        everyone = names("mpi/all")
        self.assertEqual(everyone[0], "")
        self.assertEqual(len(set(everyone)), len(everyone))
        self.assertIn("recursive-doubling", everyone)

    def test_that_do_not_exist_are_refused_with_those_that_do(self):
        done = self.bench(2, "all_reduce", "mpi/recursive-dubling", "--counts", 1)
        self.assertNotEqual(done.returncode, 0)  # 64, where the launcher hands it on
        self.assertEqual(len(tutti.said(done.stderr)), 1, done.stderr)
        self.assertIn("did you mean 'recursive-doubling'?", done.stderr)

    def test_that_would_be_replaced_say_so(self):
        self.needs_open_mpi()
        for ranks, collective, algorithm, words, says in (
                (3, "all_gather", "two-proc", ("--counts", 1001), "two ranks"),
                (3, "all_gather", "neighbor", ("--counts", 1001), "runs ring"),
                (3, "all_reduce", "ring", ("--counts", 2), "runs recursive-doubling"),
                (2, "all_reduce", "segmented-ring", ("--counts", 1001), "--segment"),
                (2, "all_to_all", "pairwise", ("--counts", 1001, "--inplace", "yes"), "ignores forced")):
            with self.subTest(algorithm):
                done = self.bench(ranks, collective, f"mpi/{algorithm}", *words)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertRegex(done.stdout, rf"# skipped: mpi/{algorithm} at .*{says}")

    def test_take_segments_and_a_fan_out_where_they_have_them(self):
        self.needs_open_mpi()
        for collective, algorithm, words, variants in (
                ("broadcast", "pipeline", ("--segment", "4K,16K", "--radix", "2,3"), {(0, 0), (4096, 0), (16384, 0)}),
                ("reduce", "chain", ("--segment", "4K", "--radix", "2,4"), {(0, 0), (4096, 0), (0, 2), (4096, 2)}),  # 4 is its own
                ("broadcast", "basic-linear", ("--segment", "4K",), {(0, 0)}),
                ("all_reduce", "segmented-ring", ("--segment", "4K,16K"), {(4096, 0), (16384, 0)})):
            with self.subTest(algorithm):
                points = self.points(3, collective, f"mpi/{algorithm}", "--counts", 50_001, "--inplace", "no", *words, "--allow-skips")
                run = [point for point in points if "skipped" not in point]
                self.assertEqual({(point["key"].get("seg", 0), point["key"].get("radix", 0)) for point in run}, variants)
                self.assertTrue(all(point["check"]["state"] == "ok" for point in run))

    def test_refuse_segments_beyond_an_int(self):
        self.needs_open_mpi()
        done = self.bench(2, "broadcast", "mpi/pipeline", "--counts", 1001, "--segment", "2G")
        self.assertRegex(done.stdout, r"# skipped: mpi/pipeline\[2G\] at .*2\^31-1 bytes")

    def test_need_no_setting_by_the_user(self):
        self.needs_open_mpi()
        self.assertNotIn(SWITCH, self.launch().get("env", {}))
        self.points(2, "all_reduce", "mpi/ring", "--counts", 100)
        self.assertEqual(self.launch()["env"][SWITCH], "1")

    def test_name_the_setting_that_forbids_them(self):
        self.needs_open_mpi()
        points = self.points(2, "all_reduce", "mpi,mpi/ring", "--allow-skips", "--counts", 100, "--inplace", "no", **{SWITCH: "0"})
        self.assertEqual(["skipped" in point for point in points], [False, True])
        self.assertIn(f"{SWITCH}=1", points[1]["skipped"])


if __name__ == "__main__":
    unittest.main()
