# SPDX-License-Identifier: Apache-2.0
"""Pictures of machines, schedules and tuning tables, drawn from what tutti computes."""

import json
import subprocess
import sys
import unittest
import xml.dom.minidom

from report_files import SCRIPTS, needs_matplotlib


def device(kind, node, **changes):
    return {"kind": kind, "pci_address": "", "pci_id": "", "names": [], "numa_node": node, "above": None, "model": "", "ports": []} | changes


def machine(without=(), nvswitches=""):
    """Two NUMA nodes with two GPUs and a NIC of two functions each; a switch above the GPUs of the first."""
    devices = [device("GPU", node, above=0 if node == 0 else None) for node in (0, 0, 1, 1)]
    devices += [device("NIC", node, pci_address=f"0000:0{node}:00.{function}", ports=[{"name": "mlx5_0", "Gbitps": 100.0}]) for node in (0, 1) for function in (0, 1)]
    host = {"name": "n0", "packages": [{"model": "CPU <1>", "cores": [0, 1]}], "numa_nodes": [
        {"os_index": node, "memory_bytes": 3 << 29, "cores": [node]} for node in (0, 1)], "cores": [{"threads": [0]}, {"threads": [1]}],
        "caches": [{"level": 3, "kind": "unified", "bytes": 1 << 25, "cores": [0, 1]}],
        "pcie_switches": [{"above": None, "numa_node": 0}], "devices": devices, "not_seen": ["port speeds"]}
    links = {"names": "NVLink", "pairs": [{"gpus": [0, 1], "count": 2, "GBps": 40.0}, {"gpus": [1, 3], "count": 1, "GBps": 20.0}], "to_switches": [],
             "to_nodes": [], "without": list(without), "nvswitches": nvswitches, "unequal": ""}
    if nvswitches:
        links |= {"pairs": [], "to_switches": [{"gpu": gpu, "count": 6, "GBps": 120.0} for gpu in range(4)]}
    kind = {"hosts": [0], "title": "n0", "labels": ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1", "NIC2", "NIC3"], "pcie_GBps": [24.0] * 8,
            "switch_GBps": [48.0], "is_virtual": [False] * 8, "socket_GBps": 32.0, "links": links}
    return {"machine": {"hosts": [host]}, "kinds": [kind], "network": ""}


def table(*boxes):
    row = {"collective": "all_reduce", "subject": "registered", "complete": False, "boxes": list(boxes)}
    return {"sizes": [str(8 << i) for i in range(20)], "shapes": [{"title": "2 ranks", "rows": [row]}], "letters": "s: segment"}


def box(begin, end, choice, **changes):
    return {"begin": begin, "end": end, "sizes": f"{begin} to {end}", "algorithm": choice.split("/")[0], "choice": choice, "origin": "measured",
            "gain": "1.52 [1.40, 1.61] mpi", "short_gain": "1.52"} | changes


def schedule(*steps, ranks=4):
    """Steps are lists of (from, to, first chunk, last chunk)."""
    return {"collective": "all_reduce", "algorithm": "<ring>", "schedule": {"ranks": ranks, "chunks": ranks, "steps": [
        [{"from": begin, "to": end, "first_chunk": first, "chunks": last - first + 1, "action": "copy"} for begin, end, first, last in step]
        for step in steps]}}


@needs_matplotlib
class Pictures(unittest.TestCase):
    def texts(self, module, described):
        from plots import machine_figure, schedule_figure, style, table_figure
        with style.settings(style.PICTURE):
            figure = {"machine": machine_figure, "schedule": schedule_figure, "table": table_figure}[module].draw(described)
            return [text.get_text() for text in figure.axes[0].texts], len(figure.axes[0].patches)

    def test_of_a_machine_show_each_part_once(self):
        texts, _ = self.texts("machine", machine())
        for words, count in (("GPU0", 1), ("NIC0,1", 1), ("2 x 100 Gb/s", 2), ("PCIe switch", 1), ("48", 1), ("24", 6), ("NVLink:", 1)):
            self.assertEqual(texts.count(words), count, words)
        self.assertEqual(sum(text.startswith("NUMA node") for text in texts), 2)
        self.assertIn("40 GB/s (2 links)", texts)

    def test_of_a_machine_mark_gpus_without_links(self):
        self.assertEqual(self.texts("machine", machine(without=[2]))[0].count("no NVLink"), 1)
        self.assertIn("2 NVSwitches", self.texts("machine", machine(nvswitches="2 NVSwitches"))[0])

    def test_of_a_table_number_boxes_that_are_too_small_for_their_names(self):
        texts, _ = self.texts("table", table(box(0, 0.5, "tree/shm"), box(0.5, 19, "ring/shm")))
        for words in ("1", "1 (0 to 0.5): tree/shm, 1.52 [1.40, 1.61] mpi", "ring/shm", "1.52 [1.40, 1.61] mpi", "incomplete"):
            self.assertEqual(texts.count(words), 1, words)
        self.assertNotIn("1", self.texts("table", table(box(0, 0.1, "tree/shm"), box(0.1, 19, "ring/shm")))[0])

    def test_of_a_schedule_have_an_arrow_for_each_pair_of_ranks(self):
        texts, shapes = self.texts("schedule", schedule([(0, 1, 0, 2), (1, 0, 3, 3), (2, 2, 0, 0)], [(0, 3, 0, 0), (0, 3, 2, 2)]))
        for words, count in (("all_reduce <ring>, 4 ranks", 1), ("rank 3", 1), ("0-2", 1), ("3", 1), ("0, 2", 1), ("1", 1)):
            self.assertEqual(texts.count(words), count, words)
        self.assertEqual(shapes, 4)  # three arrows and a dot

    def test_of_a_schedule_keep_numbers_apart(self):
        from plots import schedule_figure
        for arrows in ({(0, end, "copy"): "10-19, 30-39" for end in range(1, 8)},
                       {(begin, end, "copy"): str(begin) for begin in range(4) for end in range(4) if begin != end}):
            labels, overlaps = schedule_figure.places(arrows, 0, 4 * schedule_figure.ARROW)
            self.assertEqual((len(labels), overlaps), (len(arrows), False))

    def test_of_a_schedule_have_numbers_that_hide_no_other_arrow(self):
        from plots import schedule_figure
        ring = {(rank, (rank + 1) % 4, "reduce"): str(rank) for rank in range(4)}
        exchange = {(rank, rank ^ 2, "reduce"): "0" for rank in range(4)}
        trees = {(3, 1, "copy"): "1", (3, 2, "copy"): "1", (2, 3, "copy"): "0", (2, 1, "copy"): "0"}
        for arrows in (ring, exchange, trees):
            labels, _ = schedule_figure.places(arrows, 0, schedule_figure.ARROW)
            for label, place in labels.items():
                for begin, end, action in set(arrows) - {label}:
                    first, last = schedule_figure._x(begin), schedule_figure._x(end)
                    up = schedule_figure.ARROW * (place[0] - first) / (last - first)
                    self.assertFalse(0 <= up <= schedule_figure.ARROW and abs(up - place[1]) < 5, (label, begin, end))

    def test_come_in_each_format_and_of_nothing(self):
        forms = ((".svg", b"<?xml"), (".pdf", b"%PDF"), (".png", b"\x89PNG"))
        for kind, described, tried in (("machine", machine(), forms[:1]), ("machine", {"machine": {"hosts": []}, "kinds": [], "network": ""}, forms),
                                       ("schedule", schedule([(0, 1, 0, 0)]), forms[:1]), ("schedule", schedule(ranks=1), forms),
                                       ("table", table(box(0, 19, "<ring>&")), forms[:1]), ("table", {"sizes": ["8"], "shapes": [], "letters": ""}, forms)):
            for form, head in tried:
                done = subprocess.run([sys.executable, "-B", SCRIPTS / "draw.py", kind, form], input=json.dumps(described).encode(), capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                self.assertTrue(done.stdout.startswith(head))
                if form == ".svg":
                    xml.dom.minidom.parseString(done.stdout)


if __name__ == "__main__":
    unittest.main()
