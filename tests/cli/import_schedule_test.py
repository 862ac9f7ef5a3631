# SPDX-License-Identifier: Apache-2.0
"""tutti verify --from, tutti show --from and tutti bench --algo FILE read schedules of other programs."""
import json
import re
import unittest

import tutti
from export_schedule_test import CATALOG, FORMATS, RANKS, USAGE, export

WRONG = 2
CORPUS = tutti.ROOT / "tests/fuzz/corpus/schedule"


def corpus(name):
    return (CORPUS / name).read_text(encoding="utf-8")


class Exported(tutti.Folder):
    """An exported schedule that is read back delivers, with what ranks sent before and in the same order of addition."""

    def facts(self, *words):
        shown = self.ok("show", *words, "--steps", 0)
        return [line for line in shown.splitlines() if re.match("sent|received|proof|bits", line)]

    def test_schedules_are_proved_and_counted_as_before(self):
        count = 0
        for form, collectives in FORMATS.items():
            for name, collective in CATALOG:
                for ranks in RANKS if collective in collectives else ():
                    words = (name, collective, "--ranks", ranks)
                    before = None
                    for in_place in ("no",) if collective == "all_to_all" else ("no", "yes"):
                        text, _ = export(*words, "--to", form, "--inplace", in_place)
                        if text is None:
                            continue
                        before = before or self.facts(*words)
                        with self.subTest(words=words, form=form, in_place=in_place):
                            file = self.file("schedule", text)
                            self.assertIn("proved", self.ok("verify", "--from", file))
                            self.assertEqual(self.facts("--from", file), before)
                            count += 1
        self.assertGreater(count, 100)

    def test_messages_may_be_received_in_another_order_than_sent(self):
        text, _ = export("butterfly", "broadcast", "--ranks", 9, "--to", "msccl-xml")  # rank 7 gets chunk 8 twice
        self.assertIn("proved", self.ok("verify", "--from", self.file("twice.xml", text)))

    def test_schedules_are_written_in_another_format(self):
        text, _ = export("ring", "all_reduce", "--ranks", 4, "--to", "msccl-xml")
        plan, _ = export("--from", self.file("ring.xml", text), "--to", "mscclpp")
        self.assertEqual(json.loads(plan)["name"], "tutti_ring.xml_all_reduce_4")
        self.assertIn("proved", self.ok("verify", "--from", self.file("ring.json", plan)))


class Files(tutti.Folder):
    def test_of_sccl_are_proved_and_counted(self):
        self.assertRegex(self.ok("verify", "--from", CORPUS / "sccl.json"), "all_gather +sccl.json +3 ranks +proved\n")
        shown = self.ok("show", "--from", CORPUS / "sccl.json")
        self.assertEqual(shown.count("(copy)"), 6)
        self.assertRegex(shown, r"steps +2 .* 2\nsent +0\.6667 n .*\nreceived +0\.6667 n .* 0\.6667 n\n")

    def test_of_sccl_may_be_broadcasts_scatters_and_gathers(self):
        rest = [1, 2]
        for collective, chunks, sends in (
                ("broadcast", [([0], [0, 1, 2])] * 2, [[0, 0, 1], [1, 0, 1], [0, 0, 2], [1, 0, 2]]),
                ("scatter", [([0], [to]) for to in (0, *rest)], [[to, 0, to] for to in rest]),
                ("gather", [([of], [0]) for of in (0, *rest)], [[of, of, 0] for of in rest])):
            text = json.loads(corpus("sccl.json"))
            text["collective"]["chunks"] = [{"addr": number, "pre": before, "post": after} for number, (before, after) in enumerate(chunks)]
            text["steps"] = [text["steps"][0] | {"sends": sends}]
            with self.subTest(collective):
                self.assertRegex(self.ok("verify", "--from", self.file("some.json", json.dumps(text))), collective + " .*proved")

    def test_may_have_one_buffer_in_place(self):
        for buffer in "io":
            text = corpus("butterfly.xml").replace(f'{buffer}_chunks="1"', f'{buffer}_chunks="0"')
            text = text.replace('srcbuf="i"', 'srcbuf="o"').replace('dstbuf="i"', 'dstbuf="o"') if buffer == "i" else text
            self.assertIn("proved", self.ok("verify", "--from", self.file("butterfly.xml", text)))

    def test_of_wrong_programs_are_refuted_with_rank_and_chunk(self):
        butterfly, ring, plan, sccl = corpus("butterfly.xml"), corpus("ring.xml"), corpus("ring.json"), json.loads(corpus("sccl.json"))
        sccl["steps"].pop()
        twice, _ = export("ring", "all_reduce", "--ranks", 3, "--to", "msccl-xml", "--inplace", "yes")
        received = [found.start() for found in re.finditer('type="r"', twice)]
        last = received[-1]
        for what, text, expected in (
                ("last step", json.dumps(sccl), r"rank \d+ .*chunk \d+"),
                ("copied, not added", butterfly.replace('type="rrc"', 'type="r"', 1), r"rank 0 .*chunk 0"),
                ("added twice", twice[:last] + 'type="rrc"' + twice[last + len('type="r"'):], r"rank 2 .*chunk \d+"),
                ("dropped", re.sub(r'<step s="0" type="cpy"', '<step s="0" type="nop"', ring, count=1), r"o\[0\] of rank 0, .* chunk 0 "),
                ("other chunk", ring.replace('type="s" srcbuf="o" srcoff="2"', 'type="s" srcbuf="i" srcoff="0"'), r"rank 1, .* chunk 2 "),
                ("read too early", ring.replace('depid="1" deps="0"', 'depid="-1" deps="-1"', 1), r"o\[2\] of rank 0 before"),
                ("unlike chunks", plan.replace('"buffer_id":0,"index":0', '"buffer_id":0,"index":1', 1), r"rank 0 .* chunk 1 .* chunk 0"),
                ("no message", ring.replace('type="r"', 'type="nop"', 2), "for ever|before"),
                ("no packet", corpus("packets.json").replace('"ppkt"', '"nop"', 1), "for ever"),
                ("left over", re.sub(r'( *<step s="0" type="s".*\n)', r"\1\1", butterfly, count=1), "without a receive"),
                ("no signal", plan.replace('"name":"signal"', '"name":"wait"', 1), "rank 0 .* for ever")):
            with self.subTest(what):
                file = self.file("wrong", text)
                message = self.fails(WRONG, "verify", "--from", file).stderr
                self.assertRegex(message, r"tutti: .*wrong.*" + expected)
                self.assertRegex(message, "; use ")
                self.fails(WRONG, "bench", "all_reduce", "--ranks", 2, "--algo", file, *tutti.QUICK)

    def test_that_are_damaged_are_refused(self):
        xml, plan, sccl = corpus("ring.xml"), corpus("ring.json"), corpus("sccl.json")
        for text, old, new, key in (
                (xml, 'type="s"', 'type="x"', "use s, r"), (xml, 'srcoff="0"', 'srcoff="99"', "chunks from"),
                (xml, 'srcbuf="i"', 'srcbuf="q"', "use i, o or s"), (xml, 'type="r"', 'type="s"', "has no peer"),
                (xml, 'coll="allgather"', 'coll="gather"', "use allreduce"), (xml, "</algo>", "", "invalid XML"),
                (xml, 'gpu id="1"', 'gpu id="7"', "out of order"), (xml, 'o_chunks="3"', 'o_chunks="4"', "do not fit"),
                (xml, 'cnt="1"', 'cnt="0"', "chunks from"), (xml, 'id="1" send', 'id="0" send', "repeats the id"),
                (plan, '"put"', '"pit"', "does not read"), (plan, '"gpus"', '"gpu"', "topology"), (plan, '"name":"wait"', '"name":"nop","x":"', "JSON"),
                (plan, '"allreduce"', '"scan"', "use allreduce"), (plan, '"memory","channel_ids"', '"port","channel_ids"', "is not memory"),
                (plan, '"buffer_id":0', '"buffer_id":9', "whole number"), (plan, '"size":1', '"size":0', "whole number"),
                (plan, '"size":1', '"size":2', "different sizes"), (plan, '"inplace":false', '"inplace":7', "inplace"),
                (sccl, '"addr": 2', '"addr": 1', "distinct"), (sccl, '"post"', '"past"', "post"), (sccl, '"sends"', '"send"', "sends"),
                (sccl, '"pre"', '"post"', "post")):
            with self.subTest(old=old, new=new):
                self.assertIn(old, text, "the file has it")
                done = self.fails(USAGE, "verify", "--from", self.file("damaged", text.replace(old, new, 1)), key=key)
                self.assertRegex(done.stderr, r"damaged:\d+: ")
        self.fails(USAGE, "verify", "--from", self.folder, key="cannot read")
        self.fails(USAGE, "verify", "--from", self.folder / "missing", key="cannot read")
        self.fails(USAGE, "verify", "--from", self.file("empty", ""), key="is not a schedule")
        self.fails(USAGE, "verify", "all_reduce", "--from", CORPUS / "ring.xml", key="--from")
        self.fails(USAGE, "show", "ring", "--from", CORPUS / "ring.xml", key="--from")
        self.fails(USAGE, "show", "--from", CORPUS / "ring.xml", "--ranks", 3, key="--ranks has no effect")


class Candidates(tutti.Folder):
    """bench runs a file's schedule next to the algorithms of tutti."""

    def test_are_measured_and_checked_under_the_name_of_their_file(self):
        for file, collective, ranks in (("ring.xml", "all_gather", 3), ("sccl.json", "all_gather", 3), ("butterfly.xml", "all_reduce", 2),
                                        ("packets.json", "all_reduce", 2), ("ring.json", "all_reduce", 2), ("one_shot.json", "all_reduce", 2)):
            with self.subTest(file):
                self.results.unlink(missing_ok=True)
                self.ok("bench", collective, "--ranks", ranks, "--algo", f"linear,{CORPUS / file}", "--transport", "all", "--counts", "0,1,7,5000",
                        "--json", self.results, *tutti.QUICK)
                points = tutti.points(self.results)
                self.assertEqual({point["key"]["algo"] for point in points}, {"linear", file})
                self.assertGreater(len({point["key"]["transport"] for point in points}), 1)
                for point in points:
                    self.assertEqual((point["check"]["state"], point["check"]["n_wrong"]), ("ok", 0), point["key"])

    def test_that_do_not_fit_are_refused(self):
        file = CORPUS / "ring.xml"
        self.fails(USAGE, "bench", "all_reduce", "--ranks", 3, "--algo", file, *tutti.QUICK, key="'ring.xml' cannot do all_reduce, only all_gather")
        done = self.fails(USAGE, "bench", "all_gather", "--ranks", 4, "--algo", file, "--counts", 8, "--baseline", "none", *tutti.QUICK)
        self.assertIn("use 3 ranks", done.stdout)
        self.ok("bench", "all_gather", "--ranks", 3, "--algo", f"{file},{file.parent}/./ring.xml", "--counts", 8, "--baseline", "none", *tutti.QUICK)
        for name in ("ring", "all", "broadcast"):
            taken = self.file(name, file.read_text(encoding="utf-8"))
            self.fails(USAGE, "bench", "all_gather", "--ranks", 3, "--algo", taken, *tutti.QUICK, key="tutti uses itself")
        (self.folder / "ring.xml").write_bytes(file.read_bytes())
        self.fails(USAGE, "bench", "all_gather", "--ranks", 3, "--algo", f"{file},{self.folder / 'ring.xml'}", key="rename")


if __name__ == "__main__":
    unittest.main()
