# SPDX-License-Identifier: Apache-2.0
"""The commands beside bench: what they print and write can be read by programs and people."""
import json
import unittest
import xml.dom.minidom

import tutti
from tutti import COLLECTIVES, QUICK

COMMANDS = ("bench", "check-guidelines", "completion", "history", "limits", "list", "report", "results", "run", "show", "topo", "verify")


class Commands(tutti.Folder):
    def output_of(self, *words):
        done = tutti.run(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_explain_themselves(self):
        overview = self.output_of("--help")
        self.assertEqual(overview, self.output_of("help"))
        for command in COMMANDS:
            with self.subTest(command):
                self.assertIn(f"\n  {command} ", overview)
                for flag in ("--help", "-h"):
                    self.assertIn(f"{command} [OPTIONS]", self.output_of(command, flag))

    def test_without_a_name_are_listed_but_no_success(self):
        done = tutti.run()
        self.assertEqual((done.returncode, done.stdout), (64, self.output_of("--help")))

    def test_know_their_version(self):
        self.assertRegex(self.output_of("--version"), r"^tutti \d+\.\d+\.\d+\ncommit \w+(, with changes)?\nbuilt by \w+ [\d.]+, \w+\n"
                         r"MPI (none|.+\d)\nUCX (none|[\d.]+)\nCUDA (none|[\d.]+), NCCL (none|[\d.]+)\n\Z")


class Help(unittest.TestCase):
    def test_has_no_line_of_more_than_120_characters(self):
        for command in (*COMMANDS, "compare", "tune", "workload", "workload ddp", "results query"):
            for line in tutti.run(*command.split(), "--help").stdout.splitlines():
                self.assertLessEqual(len(line), 120, f"{command}: {line}")
        self.assertIn("mapped (in\n" + 30 * " " + "the heap of ", tutti.run("bench", "--help").stdout)


class UnderALauncher(unittest.TestCase):
    def test_one_rank_does_what_needs_no_others(self):
        words = (("--version",), ("--help",), (), ("list",), ("show", "ring"), ("show", "--help"), ("show", "none.jsonl"),
                 ("verify", "all_reduce", "--ranks", 2), ("results", "--help"), ("results", "schema"), ("report", "none.jsonl"),
                 ("history", "ring", "none.jsonl"), ("check-guidelines", "none.jsonl"), ("compare", "--from", "none.jsonl"),
                 ("bench", "--help"))
        for one in words:
            for rank, size in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                               ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")):
                with self.subTest(words=one, launcher=rank):
                    done = tutti.run(*one, **{rank: "1", size: "2"})
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0 if one else 64, "", ""))

    @tutti.needs_mpi
    def test_mpirun_prints_it_once(self):
        for words in (("--version",), ("list",), ("show", "ring")):
            done = tutti.run_ranks(3, *words)
            self.assertEqual((done.returncode, done.stdout), (0, tutti.run(*words).stdout))


class List(Commands):
    def test_names_all_there_is_in_every_form(self):
        known = json.loads(self.output_of("list", "--json"))
        self.assertEqual(set(known["algorithms"]), set(COLLECTIVES))
        text, markdown = self.output_of("list"), self.output_of("list", "--markdown")
        for rows in (*known["algorithms"].values(), known["transports"], known["baselines"]):
            self.assertGreater(len(rows), 0)
            for row in rows:
                self.assertIn(f"  {row['name']} ", text)
                self.assertIn(f"| `{row['name']}` | {row['what']} |", markdown)


class Verify(Commands):
    def test_proves_every_algorithm(self):
        proofs = self.output_of("verify", "all_reduce", "--ranks", "1..8")
        algorithms = json.loads(self.output_of("list", "--json"))["algorithms"]["all_reduce"]
        self.assertEqual(proofs.count("all_reduce "), len(algorithms))
        self.assertRegex(proofs, rf"\n\d+ proofs of {len(algorithms)} algorithms in .* s, 0 wrong\n\Z")


    def test_proves_for_every_root(self):
        # Three roots, and once in channels; of two ranks two roots; of one rank one.
        self.assertIn(" 4 proofs ", self.output_of("verify", "broadcast", "--algo", "linear", "--ranks", 3))
        self.assertIn(" 9 proofs ", self.output_of("verify", "broadcast", "--algo", "linear", "--ranks", "1..3"))


class Show(Commands):
    def test_knows_nodes_islands_and_orders(self):
        text = self.output_of("show", "three-level", "--ranks", 8, "--ranks-per-node", 4, "--ranks-per-island", 2)
        self.assertIn("\nproof      delivers\n", text)
        self.assertIn("rank 6 -> rank 4 ", text)  # the islands' leaders inside the second node
        order = self.folder / "order"
        order.write_text("2 0 1  # one channel\n")
        self.assertIn("step 0\n  rank 2 -> rank 0  chunk 2 (reduce)\n",
                      self.output_of("show", "ring", "--ranks", 3, "--order-by", order))

    def test_knows_radix_and_channels(self):
        text = self.output_of("show", "tree", "broadcast", "--ranks", 9, "--radix", 3)
        self.assertRegex(text, r"\nsteps +2 ")  # log3 9
        both_directions = self.output_of("show", "ring", "all_gather", "--ranks", 3, "--channels", 2)
        for line in ("rank 0 -> rank 1 ", "rank 1 -> rank 0 "):
            self.assertIn(line, both_directions)

    def test_says_what_is_too_much(self):
        """Before, 4096 ranks took 9 GB and 40 s, 100000 were silent for minutes."""
        text = self.output_of("show", "ring", "all_reduce", "--ranks", 4096)
        self.assertRegex(text, rf"\nmessages +{2 * 4095 * 4096} ")
        self.assertIn("\nproof      not made: it would take too much memory; type --ranks with fewer\n", text)
        done = tutti.run("show", "ring", "all_reduce", "--ranks", 100000)
        self.assertEqual(done.returncode, 64)
        self.assertIn("more than 300000000 messages", done.stderr)

    def test_prints_the_counts_and_draws_a_picture(self):
        picture = self.folder / "ring.svg"
        text = self.output_of("show", "ring", "--ranks", 4, "--svg", picture)
        self.assertRegex(text, r"\nsteps +6 +at least 2\n")  # 2 (P - 1), log2 P
        self.assertRegex(text, r"\nsent +1\.5 n ")           # 2 (P - 1) / P
        self.assertEqual(xml.dom.minidom.parse(str(picture)).documentElement.tagName, "svg")


class Topo(Commands):
    def test_is_a_tree_for_people_and_an_object_for_programs(self):
        self.assertIn("\nfingerprint ", self.output_of("topo"))
        self.assertIsInstance(json.loads(self.output_of("topo", "--json")), dict)

    def test_draws_pictures(self):
        picture, graph = self.folder / "machine.svg", self.folder / "machine.dot"
        self.assertEqual(self.output_of("topo", "--svg", picture, "--dot", graph), "")
        self.assertEqual(xml.dom.minidom.parse(str(picture)).documentElement.tagName, "svg")
        self.assertTrue(graph.read_text(encoding="utf-8").startswith("graph machine {"))

    def test_reads_a_copy_of_proc_and_sys(self):
        (self.folder / "proc").mkdir()
        (self.folder / "proc/cpuinfo").write_text("processor: 0\nprocessor: 1\n", encoding="utf-8")
        self.assertIn("2 cores", self.output_of("topo", "--root", self.folder))
        done = tutti.run("topo", "--root", self.folder / "proc")
        self.assertEqual(done.returncode, 64)
        self.assertIn("holds neither sys nor proc", done.stderr)

    @tutti.needs_mpi
    def test_gathers_the_hosts_of_all_ranks(self):
        done = tutti.run_ranks(2, "topo", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), json.loads(self.output_of("topo", "--json")))

    def test_reads_back_what_it_writes(self):
        machine = self.folder / "machine.json"
        text = self.output_of("topo", "--json")
        machine.write_text(text)
        self.assertEqual(self.output_of("topo", "--from", machine, "--json"), text)
        nccl = self.folder / "topo.xml"
        self.output_of("topo", "--from", machine, "--nccl-xml", nccl)
        self.assertEqual(xml.dom.minidom.parse(str(nccl)).documentElement.tagName, "system")
        self.assertIn("\nfingerprint ", self.output_of("topo", "--from", nccl))

    def test_says_where_a_file_is_broken(self):
        broken = self.folder / "broken.json"
        broken.write_text('{"v": 1, "kind": "machine",\n"hosts": 7}')
        for file, complaint in ((broken, f"tutti: {broken}:2: 'hosts' is not a list [...]\n"),
                                (self.folder / "absent", ": no such file; give hwloc XML")):
            done = tutti.run("topo", "--from", file)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (64, "", 1))
            self.assertIn(complaint, done.stderr)


    def test_prints_paths_and_rings(self):
        self.assertIn("as NCCL names them", self.output_of("topo", "--paths"))
        rings = json.loads(self.output_of("topo", "--rings", "--json"))
        self.assertGreaterEqual(rings["found"]["GBps"], rings["naive"]["GBps"])
        self.assertRegex(self.output_of("topo", "--rings"), "\nfound |nothing crosses a link; try --hosts 4")
        self.assertIn("\nfound ", self.output_of("topo", "--rings", "--hosts", 4))

    def test_writes_rings_as_lines_of_ranks(self):
        file = self.folder / "order.txt"
        self.assertEqual(self.output_of("topo", "--order-file", file), "")
        self.assertEqual(file.read_text(), self.output_of("topo", "--order-file", "-"))
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(sorted(map(int, line.split())), list(range(len(line.split()))))

    def test_says_what_to_type_instead_of_options_that_do_not_fit(self):
        for words in (["--hosts", 2], ["--nvlinks", 12], ["--paths", "--rings", "--json"],
                      ["--rings", "--json", "--order-file", "-"],
                      ["--order-file", self.folder / "none" / "order.txt"]):
            with self.subTest(words):
                done = tutti.run("topo", *words)
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertEqual(done.stderr.count("\n"), 1)


class Report(Commands):
    def results(self, name):
        file = self.folder / name
        self.output_of("bench", "all_reduce", "--algo", "ring,tree", "--transport", "loopback", "--ranks", 2,
                       "--counts", "2,1000", "--json", file, *QUICK)
        return file

    def test_makes_one_page_of_all_files(self):
        page = self.folder / "r.html"
        done = tutti.run("report", self.results("a.jsonl"), self.results("b.jsonl"), "-o", page, "--title", "Two runs")
        if "no Python module" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        html = page.read_text(encoding="utf-8")
        self.assertIn("<h1>Two runs</h1>", html)
        self.assertEqual(html.count("</html>"), 1)

    def test_hands_on_what_figures_are_asked_for_and_makes_a_page_only_where_one_is(self):
        file = self.results("r.jsonl")
        asked = ["--figures=figures", "--format=pdf", "--style=paper", "--only=ratio", "--candidates=ring", "--sizes=8..1M"]
        for words, page in ((asked, []), ([*asked, "--output=r.html"], ["--output=r.html"]),
                            (["--svg-dir=old"], ["--output=report.html"]), (["--artifact=a"], []), ([], ["--output=report.html"])):
            done = tutti.run("report", file, *words, TUTTI_PYTHON="echo")
            handed_on = [word for word in words if not word.startswith("--output")]
            self.assertEqual(done.stdout.splitlines()[0].split()[1:], [*handed_on, *page, "--", str(file)])

    def test_passes_over_a_torn_last_line(self):
        file = self.results("torn.jsonl")
        file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        done = tutti.run("report", file, "-o", self.folder / "r.html", TUTTI_PYTHON="true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Atutti: warning: .*torn\.jsonl:\d+: the last line is torn .*\n\Z")


if __name__ == "__main__":
    unittest.main()
