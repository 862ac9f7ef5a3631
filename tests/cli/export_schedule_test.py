# SPDX-License-Identifier: Apache-2.0
"""tutti export-schedule: every schedule that a format can hold is exported, and executed by an interpreter of the format."""
import json
import re
import shutil
import subprocess
import unittest

import tutti
from plan_interpreters import Broken, run_plan, run_xml
from trace_readers import execute, read_chakra, read_goal

USAGE = 64
RANKS = range(2, 10) if tutti.FULL_MATRIX else (2, 3, 5, 8)
CATALOG = [(row["name"], collective) for collective, rows in json.loads(tutti.run("list", "--json").stdout)["algorithms"].items()
           if not collective.endswith("_v") for row in rows]
PLANS = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}
FORMATS = {"mscclpp": PLANS, "msccl-xml": PLANS | {"broadcast", "reduce"}}


def export(*words):
    done = tutti.run("export-schedule", *words)
    if done.returncode == USAGE:
        return None, done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout, ""


def variants():
    """(algorithm, collective, ranks, further options) of all schedules."""
    for name, collective in CATALOG:
        for ranks in RANKS:
            yield name, collective, ranks, ()


class Programs(tutti.Folder):
    def deliver(self, form, interpret):
        count = 0
        for name, collective, ranks, options in variants():
            for in_place in ("no",) if collective == "all_to_all" else ("no", "yes"):
                words = (name, collective, "--ranks", ranks, "--to", form, "--inplace", in_place, *options)
                with self.subTest(words):
                    text, reason = export(*words)
                    if text is None:
                        self.assertRegex(reason, "cannot be built|cannot hold")
                        self.assertIn("use ", reason.lower())
                        self.assertEqual(collective in FORMATS[form] and "cannot hold" in reason, False, reason)
                        continue
                    interpret(text)
                    count += 1
        self.assertGreater(count, 100)

    def test_of_mscclpp_deliver(self):
        self.deliver("mscclpp", run_plan)

    def test_of_msccl_xml_deliver(self):
        self.deliver("msccl-xml", run_xml)


class Errors(unittest.TestCase):
    """Damaged programs are found, so the interpreters can find errors of the exporter."""

    def damage(self, words, interpret, damages):
        text, _ = export(*words)
        interpret(text)
        for what, change in damages.items():
            with self.subTest(what):
                damaged = change(text)
                self.assertNotEqual(damaged, text)
                self.assertRaises(Broken, interpret, damaged)

    def test_in_mscclpp_plans_are_found(self):
        def edited(change):
            def edit(text):
                plan = json.loads(text)
                change(plan["gpus"][1], plan)
                return json.dumps(plan)
            return edit

        def operation(name, change, number=0):
            def edit(gpu, _):
                ops = gpu["threadblocks"][0]["ops"]
                found = [place for place, op in enumerate(ops) if op["name"] == name][number]
                change(ops, found)
            return edited(edit)

        def set_in(field, value, reference=0, target="src_buff"):
            def change(ops, place):
                ops[place][target][reference][field] = value
            return change

        def remove(ops, place):
            del ops[place]
        ring = ("ring", "all_reduce", "--ranks", 4, "--inplace", "yes", "--to", "mscclpp")
        self.damage(ring, run_plan, {
            "a wait is missing": operation("wait", remove),
            "later wait": operation("wait", remove, 2),
            "a signal is missing": operation("signal", remove),
            "a barrier is missing": operation("nop", remove, 1),
            "a reduction is missing": operation("rre", remove),
            "a put is missing": operation("put", remove),
            "other chunk": operation("rre", set_in("index", 2, 1)),
            "a sum goes elsewhere": operation("rre", set_in("index", 0, 0, "dst_buff")),
            "other source": operation("put", set_in("index", 3)),
            "a put goes elsewhere": operation("put", set_in("index", 3, 0, "dst_buff")),
            "two chunks": operation("put", set_in("size", 2)),
            "a chunk outside": operation("put", set_in("index", 9)),
            "an unknown operation": operation("put", lambda ops, place: ops[place].update(name="send")),
            "an unknown channel": operation("signal", lambda ops, place: ops[place].update(channel_ids=[7])),
            "another peer": edited(lambda gpu, _: gpu["channels"][0]["connected_to"].reverse()),
            "another buffer's rank": edited(lambda gpu, _: gpu["remote_buffers"][0].update(rank=3)),
            "another collective": edited(lambda _, plan: plan.update(collective="reducescatter")),
            "fewer chunks": edited(lambda gpu, _: gpu.update(output_chunks=3)),
            "no last wait": operation("wait", remove, -1),
            "too many operations": operation("nop", lambda ops, place: ops.extend([{"name": "nop"}] * 64)),
            "a cut file": lambda text: text[:-40],
            "a rank is missing": edited(lambda _, plan: plan["gpus"].pop()),
        })
        out_of_place = (*ring[:4], "--inplace", "no", "--to", "mscclpp")
        self.damage(out_of_place, run_plan, {
            "input overwritten": operation("rre", set_in("type", "i", 0, "dst_buff")),
        })

    def test_in_msccl_xml_are_found(self):
        def step(pattern, new, number=0):
            def edit(text):
                found = list(re.finditer(pattern, text))[number]
                return text[:found.start()] + found.expand(new) + text[found.end():]
            return edit
        words = ("butterfly", "all_reduce", "--ranks", 4, "--inplace", "yes", "--to", "msccl-xml")
        self.damage(words, run_xml, {
            "a dependence is missing": step(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"'),
            "later dependence": step(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', 3),
            "other block": step(r'depid="\d+"', 'depid="9"'),
            "own step": step(r'depid="0"', 'depid="1"'),
            "hasdep is missing": step('hasdep="1"', 'hasdep="0"'),
            "no sum": step('type="rrc"', 'type="r"'),
            "no copy": step('<tb id="0" send="1" recv="-1"', '<tb id="0" send="1" recv="2"'),
            "another peer": step('send="1"', 'send="2"'),
            "no peer": step('send="1"', 'send="-1"'),
            "another place": step('dstoff="0"', 'dstoff="1"', -1),
            "a negative place": step('srcoff="0"', 'srcoff="-1"'),
            "another count": step('cnt="1"', 'cnt="2"'),
            "a count too large": step('cnt="1"', 'cnt="72"'),
            "a repeated step": step(r' *<step s="0" .*\n', r'\g<0>\g<0>'),
            "a missing step": step(r' *<step s="1" .*\n', ''),
            "a missing send": step(r' *<step .*type="s".*\n(?=    </tb>)', ''),
            "another collective": step('coll="allreduce"', 'coll="allgather"'),
            "a missing GPU": step(r'  <gpu id="3"(.|\n)*?</gpu>\n', ''),
            "an unknown type": step('type="s"', 'type="x"'),
            "an unknown buffer": step('srcbuf="i"', 'srcbuf="q"'),
            "a cut file": lambda text: text[:len(text) // 2],
        })


class Simulations(tutti.Folder):
    """Traces have no data: they must end, know of all ranks that the result is made of, and send what the schedule sends."""

    def chakra(self, *words):
        done = tutti.run("export-schedule", *words, "--to", "chakra", "-o", self.folder / "trace")
        if done.returncode:
            return None, done.stderr
        files = sorted(self.folder.glob("trace.*.et"), key=lambda path: int(path.suffixes[-2][1:]))
        data = [path.read_bytes() for path in files]
        for path in files:
            path.unlink()
        return data, ""

    def check(self, words, collective, ranks, traces):
        known, sent = execute(traces)
        everyone = set(range(ranks))
        for rank in range(ranks):
            wanted = {"broadcast": {0}, "scatter": {0}, "reduce": everyone if rank == 0 else set(), "gather": everyone if rank == 0 else set(),
                      "scan": set(range(rank + 1)), "exscan": set(range(rank))}.get(collective, everyone)
            self.assertLessEqual(wanted, known[rank], words)
        shown = json.loads(tutti.run("show", *words, "--json").stdout)["schedule"]
        moved = {}
        for step in shown["steps"]:
            for t in step:
                if t["from"] != t["to"]:
                    moved[t["from"], t["to"]] = moved.get((t["from"], t["to"]), 0) + t["chunks"]
        whole = 5040 * 64 * (ranks if collective == "all_to_all" else 1)
        if collective == "barrier":
            whole = shown["chunks"]  # 1 byte a message
        self.assertEqual(sent, {pair: chunks * whole // shown["chunks"] for pair, chunks in moved.items()})

    def deliver(self, form, read):
        count = 0
        for name, collective, ranks, options in variants():
            words = (name, collective, "--ranks", ranks, *options)
            with self.subTest(words):
                text, reason = read(*words, "--size", 5040 * 64)
                if text is None:
                    self.assertIn("cannot be built", reason)
                    continue
                self.check(words, collective, ranks, text)
                count += 1
        self.assertGreater(count, 100)

    def goal(self, *words):
        text, reason = export(*words, "--to", "goal")
        return (read_goal(text) if text else None), reason

    def traces(self, *words):
        data, reason = self.chakra(*words)
        return (read_chakra(data) if data else None), reason

    def test_in_goal_end_and_send_what_the_schedule_sends(self):
        self.deliver("goal", self.goal)

    def test_in_chakra_end_and_send_what_the_schedule_sends(self):
        self.deliver("chakra", self.traces)

    def test_take_the_time_of_reductions_from_the_rate(self):
        words = ("ring", "all_reduce", "--ranks", 2, "--size", "20000")
        for rate, time in (("10G", 1), ("5G", 2)):
            nodes = self.goal(*words, "--compute-rate", rate)[0][0]
            self.assertEqual([round(node.time / 1000) for node in nodes if node.kind == 4], [time])
            nodes = self.traces(*words, "--compute-rate", rate)[0][0]
            self.assertEqual([node.time for node in nodes if node.kind == 4], [time])

    def test_with_errors_are_found(self):
        text, _ = export("ring", "all_reduce", "--ranks", 3, "--to", "goal")
        execute(read_goal(text))
        for old, new in ((" to 1", " to 2"), (" from 2", " from 1"), ("tag 0", "tag 1"), ("tag 3", "tag 9"), ("b to", "0b to"),
                         ("recv", "send"), ("requires l1", "requires l99"), ("l0: ", "l1: "), ("num_ranks 3", "num_ranks 4"), ("}", ""),
                         (" from 2", " to 2"), (" to 1", " to 0")):
            with self.subTest(old=old, new=new):
                self.assertIn(old, text, "goal")
                self.assertRaises(Broken, lambda: execute(read_goal(text.replace(old, new, 1))))
        data, _ = self.chakra("ring", "all_reduce", "--ranks", 3)
        execute(read_chakra(data))
        for old, new in ((b"comm_dst", b"comm_src"), (b"comm_tag", b"comm_tap"), (b"comm_size", b"comm_sise"), (b"\x18\x05", b"\x18\x06"),
                         (b"\x08\x00", b"\x08\x01"), (b"0.0.4", b"x.0.4"), (b"\x12\x19", b"\x12\x7f"), (b"comm_type\x48\x05", b"comm_type\x48\x06")):
            with self.subTest(old=old, new=new):
                self.assertIn(old, data[0])
                self.assertRaises(Broken, lambda: execute(read_chakra([data[0].replace(old, new, 1), *data[1:]])))


class Pictures(unittest.TestCase):
    def test_have_an_edge_for_each_transfer(self):
        text, _ = export("tree", "broadcast", "--ranks", 4, "--to", "dot")
        self.assertEqual(sorted(re.findall(r"(r\ds\d) -> (r\ds\d) \[label", text)), [("r0s0", "r1s1"), ("r0s1", "r2s2"), ("r1s1", "r3s2")])
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)


class Files(tutti.Folder):
    def test_are_written_or_refused_with_a_cure(self):
        path = self.folder / "new" / "ring.xml"
        words = ("export-schedule", "ring", "all_reduce", "--ranks", 4)
        self.ok(*words, "--to", "msccl-xml", "-o", path)
        self.assertEqual(path.read_text(encoding="utf-8"), self.ok(*words, "--to", "msccl-xml"))
        self.fails(USAGE, *words, "--to", "chakra", key="use -o NAME")
        self.fails(USAGE, *words, "--to", "chakre", key="chakra")
        self.fails(USAGE, *words, "--to", "goal", "--inplace", "yes", key="--inplace cannot")
        self.fails(USAGE, *words, "--to", "msccl-xml", "--size", "1K", key="--size cannot be used")
        self.fails(USAGE, *words, "--to", "goal", "--size", "3", key="use a larger --size")
        self.fails(USAGE, *words, "--to", "goal", "--compute-rate", "0", key="--compute-rate must be > 0")
        self.fails(USAGE, "export-schedule", "tree", "broadcast", "--to", "mscclpp", key="use --to msccl-xml")
        self.fails(USAGE, "export-schedule", "linear", "scatter", "--to", "msccl-xml", key="use --to goal")
        self.fails(USAGE, "export-schedule", "tree", "broadcast", "--root", 1, "--to", "msccl-xml", key="use --root 0")
        self.fails(USAGE, "export-schedule", "linear", "all_to_all", "--inplace", "yes", "--to", "mscclpp", key="use --inplace no")
        self.fails(USAGE, "export-schedule", "ring", "all_reduce", "--ranks", 600, "--to", "msccl-xml", key="at most 256")


if __name__ == "__main__":
    unittest.main()
