# SPDX-License-Identifier: Apache-2.0
"""The commands other than bench: their output can be read by programs and people."""
import json
import re
import unittest
import xml.dom.minidom

import tutti
from tutti import COLLECTIVES, QUICK, needs_matplotlib

COMMANDS = ("aggressor", "bench", "check-guidelines", "ci-guard", "compare", "completion", "doctor", "export", "export-schedule", "history", "limits", "list", "report",
            "results", "run", "show", "topo", "tune", "verify", "workload")


class Help(tutti.Folder):
    def test_of_each_command_is_in_the_overview_and_its_own(self):
        overview = self.ok("--help")
        self.assertEqual(overview, self.ok("help"))
        self.assertEqual(tutti.run().stdout, overview)
        for command in (*COMMANDS, "workload ddp", "results query"):
            with self.subTest(command):
                self.assertIn(f"\n  {command.split()[0]} ", overview)
                text = self.ok(*command.split(), "--help")
                self.assertEqual(text, self.ok(*command.split(), "-h"))
                self.assertLessEqual(max(map(len, text.splitlines())), 120)

    def test_of_the_version_names_its_libraries(self):
        self.assertRegex(self.ok("--version"), r"^tutti \d+\.\d+\.\d+\n(.+\n)+MPI .+\nUCX .+\nCUDA .+, NCCL .+\n\Z")


class UnderALauncher(tutti.Folder):
    def test_one_rank_prints(self):
        words = (("--version",), ("--help",), (), ("list",), ("show", "ring"), ("show", "none.jsonl"), ("verify", "all_reduce", "--ranks", 2),
                 ("results", "schema"), ("report", "none.jsonl"), ("history", "ring", "none.jsonl"), ("check-guidelines", "none.jsonl"),
                 ("compare", "--from", "none.jsonl"), ("bench", "--help"))
        for one in words:
            for rank, size in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                               ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")):
                with self.subTest(words=one, launcher=rank):
                    done = tutti.run(*one, **{rank: "1", size: "2"})
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0 if one else 64, "", ""))

    @tutti.needs_mpi
    def test_of_mpi_the_output_is_the_same(self):
        self.assertEqual(tutti.run_ranks(3, "list").stdout, self.ok("list"))
        self.assertEqual(json.loads(tutti.run_ranks(2, "topo", "--json").stdout), json.loads(self.ok("topo", "--json")))


class List(tutti.Folder):
    def test_has_everything_in_every_form(self):
        known = json.loads(self.ok("list", "--json"))
        with_blocks = set(COLLECTIVES) - {"all_reduce", "broadcast", "reduce", "barrier", "scan", "exscan"}
        self.assertEqual(set(known["algorithms"]), set(COLLECTIVES) | {f"{name}_v" for name in with_blocks})
        text, markdown = self.ok("list"), self.ok("list", "--markdown")
        for row in (*(row for rows in known["algorithms"].values() for row in rows), *known["transports"], *known["baselines"]):
            self.assertIn(f"  {row['name']} ", text)
            self.assertIn(f"| `{row['name']}` | {row['what']} |", markdown)

    def test_has_the_knobs_that_are_options(self):
        for knob in json.loads(self.ok("list", "--json"))["knobs"]:
            for command in ("bench", "tune"):
                self.assertIn(f"  --{knob['name']} ", self.ok(command, "--help"))


class Verify(tutti.Folder):
    def test_proves_every_algorithm(self):
        proofs = self.ok("verify", "all_reduce", "--ranks", "1..8")
        algorithms = json.loads(self.ok("list", "--json"))["algorithms"]["all_reduce"]
        self.assertEqual(proofs.count("all_reduce "), len(algorithms))
        self.assertRegex(proofs, r" 0 wrong\n\Z")

    def test_proves_for_every_root(self):
        # Three roots, and once in channels; of two ranks two roots; of one rank one.
        self.assertIn(" 4 proofs ", self.ok("verify", "broadcast", "--algo", "linear", "--ranks", 3))
        self.assertIn(" 9 proofs ", self.ok("verify", "broadcast", "--algo", "linear", "--ranks", "1..3"))


    def test_quotes_why_an_algorithm_refuses(self):
        reason = self.fails(64, "show", "butterfly", "all_to_all", "--ranks", 3).stderr.split(": ")[-1].strip()
        self.assertIn(reason, self.ok("verify", "all_to_all", "--algo", "butterfly", "--ranks", "3..8"))
        nothing = tutti.run("verify", "all_to_all", "--algo", "butterfly", "--ranks", 3)
        self.assertEqual(nothing.returncode, 64)
        self.assertIn(reason, nothing.stdout)

    def test_proves_the_values_of_knobs(self):
        # One for each radix, and one in channels.
        for words, proofs in ((("--radix", "2..4"), 4), (("--radix", 3), 2), (("--channels", "2..3"), 9)):
            self.assertIn(f" {proofs} proofs ", self.ok("verify", "all_reduce", "--algo", "tree", "--ranks", 8, *words))


class Show(tutti.Folder):
    def test_counts_steps_and_bytes_and_draws_a_picture(self):
        picture = self.folder / "ring.svg"
        text = self.ok("show", "ring", "--ranks", 4, "--svg", picture)
        self.assertRegex(text, r"\nsteps +6 +lower bound 2\n")  # 2 (P - 1), log2 P
        self.assertRegex(text, r"\nsent +1\.5 n ")           # 2 (P - 1) / P
        self.assertEqual(xml.dom.minidom.parse(str(picture)).documentElement.tagName, "svg")

    def test_takes_nodes_orders_radix_and_channels(self):
        text = self.ok("show", "three-level", "--ranks", 8, "--ranks-per-node", 4, "--ranks-per-island", 2)
        self.assertIn("rank 6 -> rank 4 ", text)  # the islands' leaders inside the second node
        order = self.file("order", "2 0 1  # one channel\n")
        self.assertIn("step 0\n  rank 2 -> rank 0 ", self.ok("show", "ring", "--ranks", 3, "--order-by", order))
        self.assertRegex(self.ok("show", "tree", "broadcast", "--ranks", 9, "--radix", 3), r"\nsteps +2 ")  # log3 9
        both_directions = self.ok("show", "ring", "all_gather", "--ranks", 3, "--channels", 2)
        for line in ("rank 0 -> rank 1 ", "rank 1 -> rank 0 "):
            self.assertIn(line, both_directions)

    def numbers(self, *words):
        """Those of the ways: transfers by memory and by message, n by message and its least, n across the busiest host and its least."""
        text = self.ok("show", *words)
        memory, message, crosses = (re.findall(r"[0-9.]+", line) for line in re.findall(r"(?m)^(?:by me|crosses).*$", text))
        return [float(number) for number in (memory[0], *message, *crosses)], text

    def test_says_which_transfers_go_through_memory_and_which_by_message(self):
        numbers, text = self.numbers("two-level", "all_reduce", "--placement", "2x2")
        self.assertEqual(numbers, [4, 4, 2, 2, 1, 1])
        self.assertEqual((text.count(", by memory\n"), text.count(", by message\n")), (4, 4))
        # Neighbours of the ring are all on different hosts.
        self.assertEqual(self.numbers("ring", "all_reduce", "--placement", "a,b,a,b")[0], [0, 24, 6, 2, 3, 1])
        for collective, expected in (("all_gather", [3, 5, 2, 1, 1.5, 0.5]), ("all_to_all", [4, 8, 2, 2, 1, 1]), ("gather", [1, 2, 0.5, 0.5, 0.5, 0.5]),
                                     ("broadcast", [1, 2, 2, 1, 2, 1])):
            with self.subTest(collective):
                self.assertEqual(self.numbers("linear", collective, "--placement", "2x2")[0], expected)
        steps = json.loads(self.ok("show", "ring", "all_gather", "--placement", "a,b,b", "--json"))["schedule"]["steps"]
        self.assertEqual({(one["from"], one["to"]): one["way"] for one in steps[0]},
                         {(0, 1): "message", (1, 2): "memory", (2, 0): "message"})
        self.assertNotIn("way", self.ok("show", "ring", "all_gather", "--json"))

    def crossings(self, text):
        """By level: vectors between its parts, their number, the least, messages and the least."""
        lines = re.findall(r"(?m)^(cache|numa|package|host|switch|rack) +(.* messages.*)$", text)
        return {level: [float(number) for number in re.findall(r"[0-9.]+", numbers)] for level, numbers in lines}

    def test_counts_what_crosses_each_level(self):
        for placement, parts in (("host:64,package:2,cache:12,rank:8", {"cache": 1536, "package": 128, "host": 64}),
                                 ("rack:2,switch:2,host:2,numa:3", {"numa": 24, "host": 8, "switch": 4, "rack": 2})):
            found = self.crossings(self.ok("show", "levels", "all_reduce", "--placement", placement, "--level-algorithms", "tree"))
            least = {level: 2 * (count - 1) for level, count in parts.items()}
            self.assertEqual(found, {level: [least[level], count, least[level], least[level], least[level]] for level, count in parts.items()})
        self.assertEqual(self.crossings(self.ok("show", "levels", "--placement", "2x4")), {})

    def test_chooses_levels_and_their_algorithms(self):
        words = ("show", "levels", "all_reduce", "--placement", "host:2,numa:2,cache:2,rank:2")
        of_hosts = self.ok(*words, "--levels", "host", "--level-algorithms", "ring+tree")
        two_level = self.ok("show", "two-level", *words[2:])
        self.assertEqual(of_hosts.partition("\n")[2], two_level.partition("\n")[2])
        self.assertNotEqual(self.ok(*words).partition("\n")[2], two_level.partition("\n")[2])

    def test_takes_the_file_of_a_machine_as_a_placement(self):
        machine = self.file("machine.json", self.ok("topo", "--json"))
        cores = sum(len(host["cores"]) for host in json.loads(machine.read_text(encoding="utf-8"))["hosts"])
        text = self.ok("show", "levels", "broadcast", "--placement", f"3x{machine}")
        self.assertIn(f"broadcast levels on {3 * cores} ranks", text)
        self.assertEqual(self.crossings(text)["host"], [2, 3, 2, 2, 2])

    def test_refuses_placements_that_are_no_trees(self):
        for placement, part in (("host:2,rack:2", "rack"), ("host:0", "host:0"), ("host:2,rank:x", "rank:x"), ("rank:2,host:2", "ranks"),
                                ("host:1048577", "1048576"), ("hots:2", "'host'")):
            self.fails(64, "show", "levels", "--placement", placement, key=part)

    def test_makes_no_proof_that_needs_too_much_memory(self):
        """Before, 4096 ranks took 9 GB and 40 s."""
        text = self.ok("show", "ring", "all_reduce", "--ranks", 4096)
        self.assertRegex(text, rf"\nmessages +{2 * 4095 * 4096} ")
        self.assertRegex(text, "\nproof +skipped")


class Topo(tutti.Folder):
    @needs_matplotlib
    def test_draws_pictures(self):
        picture, graph = self.folder / "machine.svg", self.folder / "machine.dot"
        self.assertEqual(self.ok("topo", "--svg", picture, "--dot", graph), "")
        self.assertEqual(xml.dom.minidom.parse(str(picture)).documentElement.tagName, "svg")
        self.assertTrue(graph.read_text(encoding="utf-8").startswith("graph machine {"))

    def test_reads_a_copy_of_proc_and_sys(self):
        (self.folder / "proc").mkdir()
        (self.folder / "proc/cpuinfo").write_text("processor: 0\nprocessor: 1\n", encoding="utf-8")
        self.assertIn("2 cores", self.ok("topo", "--root", self.folder))

    def test_reads_its_own_files(self):
        machine, nccl = self.folder / "machine.json", self.folder / "topo.xml"
        text = self.ok("topo", "--json")
        machine.write_text(text)
        self.assertEqual(self.ok("topo", "--from", machine, "--json"), text)
        self.ok("topo", "--from", machine, "--nccl-xml", nccl)
        self.assertEqual(xml.dom.minidom.parse(str(nccl)).documentElement.tagName, "system")
        self.assertIn("\nfingerprint ", self.ok("topo", "--from", nccl))

    def test_prints_paths_and_rings(self):
        self.assertIn("NCCL", self.ok("topo", "--paths"))
        rings = json.loads(self.ok("topo", "--rings", "--json"))
        self.assertGreaterEqual(rings["found"]["GBps"], rings["naive"]["GBps"])
        self.assertIn("\nfound ", self.ok("topo", "--rings", "--hosts", 4))

    def test_writes_rings_as_lines_of_ranks(self):
        file = self.folder / "order.txt"
        self.assertEqual(self.ok("topo", "--order-file", file), "")
        self.assertEqual(file.read_text(), self.ok("topo", "--order-file", "-"))
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(sorted(map(int, line.split())), list(range(len(line.split()))))


class Report(tutti.Folder):
    def measured(self, name):
        file = self.folder / name
        self.ok("bench", "all_reduce", "--algo", "ring,tree", "--transport", "loopback", "--ranks", 2, "--counts", "2,1000",
                "--json", file, *QUICK)
        return file

    def test_makes_one_page_of_all_files(self):
        page = self.folder / "r.html"
        done = tutti.run("report", self.measured("a.jsonl"), self.measured("b.jsonl"), "-o", page, "--title", "Two runs")
        if "no Python module" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        html = page.read_text(encoding="utf-8")
        self.assertEqual((html.count("<h1>Two runs</h1>"), html.count("</html>")), (1, 1))

    def test_passes_options_on_and_makes_a_page_only_if_one_is_wanted(self):
        file = self.measured("r.jsonl")
        asked = ["--figures=figures", "--format=pdf", "--style=paper", "--only=ratio", "--candidates=ring", "--sizes=8..1M"]
        for words, page in ((asked, []), ([*asked, "--output=r.html"], ["--output=r.html"]),
                            (["--svg-dir=old"], ["--output=report.html"]), (["--artifact=a"], []), ([], ["--output=report.html"])):
            done = tutti.run("report", file, *words, TUTTI_PYTHON="echo")
            passed_on = [word for word in words if not word.startswith("--output")]
            self.assertEqual(done.stdout.splitlines()[0].split()[1:], [*passed_on, *page, "--", str(file)])

    def test_skips_a_torn_last_line(self):
        file = self.measured("torn.jsonl")
        file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        done = tutti.run("report", file, "-o", self.folder / "r.html", TUTTI_PYTHON="true")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertRegex(done.stderr, r"torn\.jsonl:\d+: ")


if __name__ == "__main__":
    unittest.main()
