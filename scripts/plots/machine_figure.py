# SPDX-License-Identifier: Apache-2.0
"""A machine: packages and NUMA nodes with their cores on top, PCIe switches, then GPUs and NICs, and the links between GPUs.

Hosts that are built alike are drawn once. Line widths follow the bandwidths, which tutti has computed (GB/s each way)."""

import math
import textwrap

from .picture import LETTER, Picture
from .style import SOFT
from .units import counted

LEAF_WIDTH, LEAF_HEIGHT, GAP, MARGIN = 104, 56, 8, 16
LEAST_COLUMN, BETWEEN_COLUMNS, BETWEEN_GROUPS = 176, 14, 64
SWITCH_HEIGHT, LEVEL, LINE = 20, 52, 15
NOTE, LOST, NUMBER = "#7b8794", "#c2410c", "#52606d"
PCIE, SOCKET, NETWORK, NVSWITCH = "#9a8c73", "#9aa5b1", "#2b6cb0", "#2f8132"
SHADES = ("#c3e6cb", "#8fce9b", "#4fa65a", "#1e6b2b")  # links: the widest is the darkest
MAKERS = ("NVIDIA ", "Tesla ", "AMD ", "Instinct ", "INSTINCT ")


def draw(described):
    """The figure of what `tutti topo` hands out."""
    picture, x, lowest, middles = Picture(), 24, 24, []
    for kind in described["kinds"]:
        host = _Host(picture, described["machine"]["hosts"][kind["hosts"][0]], kind, x, 24)
        host.draw()
        picture.box(x, 24, host.width, host.height, "#fcfcfd", "#cbd2d9", 10, zorder=0)
        middles.append((x + host.width / 2, 24 + host.height))
        lowest, x = max(lowest, 24 + host.height), x + host.width + 24
    if described["network"]:
        y = lowest + 30
        for middle in middles:
            picture.line(middle, (middle[0], y), NETWORK, 4)
        picture.box(24, y, x - 48, 30, "#dbeafe", NETWORK, 8)
        picture.text(x / 2, y + 19, described["network"], 12, "center", bold=True, room=x - 48)
        lowest = y + 30
    return picture.figure(max(x, 60), lowest + 24)


class _Column:
    """A NUMA node, or no node, with what hangs below it."""

    def __init__(self, node, cores, memory, host):
        self.node, self.cores, self.memory = node, cores, memory
        self.branches = [branch for number, switch in enumerate(host["pcie_switches"]) if switch["above"] is None
                         for branch in [_Branch(host, number)] if branch.width and branch.node() == node]
        self.leaves = _leaves(host, lambda device: device["above"] is None and device["numa_node"] == node)

    @property
    def is_empty(self):
        return not (self.cores or self.branches or self.leaves)

    @property
    def width(self):
        leaves = max(len(self.leaves) + sum(branch.width for branch in self.branches), 1)
        return max(LEAST_COLUMN, leaves * (LEAF_WIDTH + GAP) + GAP)

    @property
    def depth(self):
        return max((branch.depth for branch in self.branches), default=0)


class _Branch:
    """A PCIe switch; switches with nothing but NVSwitches below have no width."""

    def __init__(self, host, number):
        self.number, self.host = number, host
        below = (_Branch(host, other) for other, switch in enumerate(host["pcie_switches"]) if other > number and switch["above"] == number)
        self.branches = [branch for branch in below if branch.width]
        self.leaves = _leaves(host, lambda device: device["above"] == number)
        self.width = len(self.leaves) + sum(branch.width for branch in self.branches)
        self.depth = 1 + max((branch.depth for branch in self.branches), default=0)

    def node(self):
        """The NUMA node; a switch without one has the node of its devices."""
        own = self.host["pcie_switches"][self.number]["numa_node"]
        found = [own, *(self.host["devices"][leaf[0]]["numa_node"] for leaf in self.leaves), *(branch.node() for branch in self.branches)]
        return next((node for node in found if node is not None), None)


def _leaves(host, wanted):
    """Lists of devices that are drawn as one box: a GPU, or the functions of one NIC. GPUs first, as links join them."""
    leaves = []
    for number, device in enumerate(host["devices"]):
        if device["kind"] == "NVSwitch" or not wanted(device):
            continue
        first = host["devices"][leaves[-1][0]] if leaves else None
        if first and first["kind"] == device["kind"] == "NIC" and first["pci_address"] and first["above"] == device["above"] and \
                first["pci_address"].partition(".")[0] == device["pci_address"].partition(".")[0]:
            leaves[-1].append(number)
        else:
            leaves.append([number])
    return sorted(leaves, key=lambda leaf: host["devices"][leaf[0]]["kind"] != "GPU")


def _columns(host):
    columns = [_Column(node["os_index"], node["cores"], node["memory_bytes"], host) for node in host["numa_nodes"]]
    others = dict.fromkeys(part["numa_node"] for part in host["devices"] + host["pcie_switches"])
    columns += [_Column(node, [], 0, host) for node in others if node not in {column.node for column in columns}]
    columns = [column for column in columns if not column.is_empty]
    return columns or ([_Column(None, list(range(len(host["cores"]))), 0, host)] if host["cores"] else [])


class _Host:
    def __init__(self, picture, host, kind, x, y):
        self.picture, self.host, self.kind, self.left, self.top = picture, host, kind, x, y
        self.columns = _columns(host)
        self.boxes, self.nodes = {}, {}  # (x, y, width, height) of devices and of NUMA nodes
        left, self.groups = list(self.columns), []
        for number, package in enumerate(host["packages"]):
            members = [column for column in left if column.cores and set(column.cores) <= set(package["cores"])]
            left = [column for column in left if column not in members]
            if members:
                self.groups.append((f"package {number}" + (f": {package['model']}" if package["model"] else ""), members))
        if left:
            self.groups.append(("", left))
        cores = max((self._grid(column)[1] * self._grid(column)[2] for column in self.columns), default=0)
        self.node_height = 3 * LINE + 10 + cores
        self.nodes_y = y + 86
        self.devices_y = self.nodes_y + self.node_height + 8 + (max((column.depth for column in self.columns), default=0) + 1) * LEVEL - 12
        self.width = max(2 * MARGIN - BETWEEN_GROUPS + sum(_group_width(members) + BETWEEN_GROUPS for _, members in self.groups), 520)
        self.height = 0

    def _grid(self, column):
        """Cores across and down, and the size of one."""
        count = max(len(column.cores), 1)
        size = 7 if count > 96 else 9 if count > 32 else 12
        across = min(max(int((column.width - 2 * GAP) / size), 1), count)
        return across, -(-count // across), size

    def draw(self):
        self.picture.text(self.left + MARGIN, self.top + 28, self.kind["title"], 18, bold=True, room=self.width - 2 * MARGIN)
        self.picture.text(self.left + MARGIN, self.top + 46, self._subtitle(), colour=SOFT, room=self.width - 2 * MARGIN)
        self._draw_groups()
        y = max((box[1] + box[3] for box in self.boxes.values()), default=self.devices_y) + 10
        for link in self.kind["links"]["to_nodes"]:
            self._draw_link_to_node(link)
        if self.kind["links"]["pairs"]:
            y = self._draw_arcs()
        if self.kind["links"]["to_switches"]:
            y = self._draw_switches(y - 10)
        for gpu in self.kind["links"]["without"]:
            if gpu in self.boxes:
                x, top, width, height = self.boxes[gpu]
                self.picture.text(x + width / 2, top + height + 15, f"no {self.kind['links']['names']}", align="center", colour=LOST, bold=True)
        for note in self.host["not_seen"]:
            for line in textwrap.wrap(f"not seen: {note}", int((self.width - 2 * MARGIN) / LETTER)):
                y += LINE
                self.picture.text(self.left + MARGIN, y, line, colour=NOTE, italic=True)
        self.height = y + MARGIN - self.top

    def _subtitle(self):
        counts = {kind: sum(device["kind"] == kind for device in self.host["devices"]) for kind in ("GPU", "NIC")}
        cores = self.host["cores"]
        parts = [counted(len(cores), "core"), counted(sum(len(core["threads"]) for core in cores), "thread")] if cores else []
        memory = {}
        for node in self.host["numa_nodes"]:
            memory[node.get("kind", "")] = memory.get(node.get("kind", ""), 0) + node["memory_bytes"]
        parts += [f"{_memory(count)} {kind}".strip() for kind, count in memory.items() if count]
        parts += [counted(count, kind) for kind, count in counts.items() if count]
        return ", ".join(filter(None, parts)) + "; numbers on lines are GB/s each way"

    def _draw_groups(self):
        x, before = self.left + MARGIN, None
        for title, members in self.groups:
            width, y, height = _group_width(members), self.top + 62, self.nodes_y - self.top - 62 + self.node_height + 8
            if title:
                self.picture.box(x, y, width, height, "#eef2f6", "#9aa5b1", 8, zorder=1)
                self.picture.text(x + GAP, y + 16, title, colour=SOFT, room=width - 2 * GAP)
                if before:
                    self.picture.line((before, y + height / 2), (x, y + height / 2), SOCKET, 5)
                    if self.kind["socket_GBps"]:
                        self.picture.text((before + x) / 2, y + height / 2 - 8, _number(self.kind["socket_GBps"]), 10.5, "center", NUMBER)
                before = x + width
            column_x = x + GAP
            for column in members:
                self._draw_column(column, column_x)
                column_x += column.width + BETWEEN_COLUMNS
            x += width + BETWEEN_GROUPS

    def _draw_column(self, column, x):
        room, y = column.width - 2 * GAP, self.nodes_y + LINE
        self.picture.box(x, self.nodes_y, column.width, self.node_height, "white", NOTE, dashes="-" if column.cores else "--", zorder=1.5)
        name = "NUMA node unknown" if column.node is None else f"NUMA node {column.node}"
        self.picture.text(x + GAP, y, ", ".join(filter(None, (name, _memory(column.memory)))), 12, bold=True, room=room)
        if column.cores:
            threads = sum(len(self.host["cores"][core]["threads"]) for core in column.cores)
            self.picture.text(x + GAP, y + LINE, f"{counted(len(column.cores), 'core')}, {counted(threads, 'thread')}", colour=SOFT, room=room)
            self.picture.text(x + GAP, y + 2 * LINE, self._caches(column), colour=SOFT, room=room)
            self._draw_cores(column, x + GAP, y + 2 * LINE + 6)
        if column.node is not None:
            self.nodes[column.node] = (x, self.nodes_y, column.width, self.node_height)
        self._draw_below(column.branches, column.leaves, x + GAP, self.nodes_y + self.node_height, 0)

    def _caches(self, column):
        counts = {}
        for cache in self.host["caches"]:
            if cache["kind"] not in ("instruction", "memory-side") and cache["level"] >= 2 and set(cache["cores"]) <= set(column.cores):
                place = -cache["level"], cache["bytes"]
                counts[place] = counts.get(place, 0) + 1
        return ", ".join(f"L{-level} {f'{count} x ' if count > 1 else ''}{_memory(size)}" for (level, size), count in sorted(counts.items()))

    def _draw_cores(self, column, x, y):
        """Squares; the two colours tell apart cores of different last-level caches."""
        across, _, size = self._grid(column)
        caches = [cache for cache in self.host["caches"] if cache["kind"] not in ("instruction", "memory-side")]
        last = [cache for cache in caches if cache["level"] == max(cache["level"] for cache in caches)]
        of_core = {core: number for number, cache in enumerate(last) for core in cache["cores"]}
        for place, core in enumerate(column.cores):
            fill = "#bcccdc" if of_core.get(core, 0) % 2 else "#829ab1"
            self.picture.box(x + place % across * size, y + place // across * size, size - 2, size - 2, fill, "none", 1)

    def _draw_below(self, branches, leaves, x, from_y, level):
        """A switch is as wide as all that hangs below it, so lines go straight down."""
        for branch in branches:
            width = branch.width * (LEAF_WIDTH + GAP) - GAP
            y = self.nodes_y + self.node_height + 8 + (level + 1) * LEVEL - 20
            self._draw_pcie(self.kind["switch_GBps"][branch.number], x + width / 2, from_y, y)
            self.picture.box(x, y, width, SWITCH_HEIGHT, "#f0e6d2", "#b08d57")
            self.picture.text(x + width / 2, y + 14, "PCIe switch", align="center", colour=SOFT, room=width)
            self._draw_below(branch.branches, branch.leaves, x, y + SWITCH_HEIGHT, level + 1)
            x += width + GAP
        for leaf in leaves:
            self._draw_leaf(leaf, x, from_y)
            x += LEAF_WIDTH + GAP

    def _draw_pcie(self, bandwidth, x, from_y, to_y):
        self.picture.line((x, from_y), (x, to_y), PCIE, _width(bandwidth) if bandwidth else 1.5)
        if bandwidth:
            self.picture.text(x + 5 + _width(bandwidth) / 2, to_y - 6, _number(bandwidth), 10.5, colour=NUMBER)

    def _draw_leaf(self, leaf, x, from_y):
        first, y, middle = self.host["devices"][leaf[0]], self.devices_y, x + LEAF_WIDTH / 2
        is_gpu, is_virtual = first["kind"] == "GPU", self.kind["is_virtual"][leaf[0]]
        if not is_virtual:
            self._draw_pcie(self.kind["pcie_GBps"][leaf[0]], middle, from_y, y)
        self.boxes |= {device: (x, y, LEAF_WIDTH, LEAF_HEIGHT) for device in leaf}
        self.picture.box(x, y, LEAF_WIDTH, LEAF_HEIGHT, *(("#d9f2dc", NVSWITCH) if is_gpu else ("#dbeafe", NETWORK)), 6)
        label = self.kind["labels"][leaf[0]] + (f",{self.kind['labels'][leaf[-1]][3:]}" if len(leaf) > 1 else "")
        ports = [port for device in leaf for port in self.host["devices"][device]["ports"]]
        speeds = [port["Gbitps"] for port in ports if port["Gbitps"]]
        name = _model(first) if is_gpu else next(iter([port["name"] for port in first["ports"]] + first["names"]), first["pci_id"])
        below = first["pci_address"] if is_gpu else "software" if is_virtual else ", ".join(
            f"{f'{speeds.count(speed)} x ' if speeds.count(speed) > 1 else ''}{speed:g} Gb/s" for speed in sorted(set(speeds)))
        for place, words in ((17, label), (33, name), (48, below)):
            self.picture.text(middle, y + place, words, 12 if place == 17 else 11, "center", bold=place == 17, room=LEAF_WIDTH - 12)

    def _draw_link_to_node(self, link):
        """Next to the PCIe line; to a node above another column it goes aslant."""
        if link["gpu"] in self.boxes and link["node"] in self.nodes:
            (x, y, width, _), (left, top, across, height) = self.boxes[link["gpu"]], self.nodes[link["node"]]
            x += 0.2 * width
            self.picture.line((x, y), (min(max(x, left + 4), left + across - 4), top + height), SHADES[3], _width(link["GBps"]))
            self.picture.text(x - _width(link["GBps"]) / 2 - 3, y - 6, _number(link["GBps"]), 10.5, "right", NUMBER)

    def _draw_arcs(self):
        pairs = [link for link in self.kind["links"]["pairs"] if set(link["gpus"]) <= set(self.boxes)]
        speeds = sorted({link["GBps"] for link in self.kind["links"]["pairs"]})
        counts = {link["GBps"]: link["count"] for link in self.kind["links"]["pairs"]}
        peers = {}
        for link in pairs:
            for gpu, peer in (link["gpus"], link["gpus"][::-1]):
                peers.setdefault(gpu, []).append(peer)

        def outlet(gpu, peer):
            """On the lower edge: the nearest peer outermost, so that arcs to one side do not cross."""
            x, y, width, height = self.boxes[gpu]
            distance = {other: self.boxes[other][0] - x for other in peers[gpu]}
            order = sorted(peers[gpu], key=lambda other: (distance[other] > 0, -distance[other] if distance[other] > 0 else -distance[other]))
            return x + width * (order.index(peer) + 1) / (len(order) + 1), y + height
        lowest = max((box[1] + box[3] for box in self.boxes.values()), default=self.devices_y)
        for link in pairs:
            start, end = outlet(*link["gpus"]), outlet(*link["gpus"][::-1])
            depth = 16 + 60 * math.log2(1 + abs(end[0] - start[0]) / 160)
            self.picture.arc(start, end, depth, _shade(link["GBps"], speeds), _width(link["GBps"]))
            lowest = max(lowest, start[1] + depth)
        x, y = self.left + MARGIN, lowest + 26
        self.picture.text(x, y + 4, f"{self.kind['links']['names']}:", 12, bold=True)
        x += 20 + 7.5 * len(self.kind["links"]["names"])
        for speed in speeds:
            self.picture.line((x, y), (x + 36, y), _shade(speed, speeds), _width(speed))
            words = f"{_number(speed)} GB/s ({counts[speed]} link{'' if counts[speed] == 1 else 's'})"
            self.picture.text(x + 44, y + 4, words, colour=SOFT)
            x += 64 + LETTER * len(words)
        return y + 10

    def _draw_switches(self, y):
        links = [link for link in self.kind["links"]["to_switches"] if link["gpu"] in self.boxes]
        if not links:
            return y + 10
        boxes, most = [self.boxes[link["gpu"]] for link in links], max(link["GBps"] for link in links)
        left, right = min(box[0] for box in boxes), max(box[0] + box[2] for box in boxes)
        y = max(y, boxes[0][1] + boxes[0][3]) + 56
        for link, box in zip(links, boxes):
            x, width = box[0] + box[2] / 2, _width(link["GBps"])
            self.picture.line((x, box[1] + box[3]), (x, y), SHADES[3], width)
            self.picture.text(x + width / 2 + 5, y - 20, _number(link["GBps"]), 10.5, colour=LOST if link["GBps"] < most - 1e-6 else NUMBER)
        self.picture.box(left, y, right - left, 28, NVSWITCH, NVSWITCH, 6)
        self.picture.text((left + right) / 2, y + 18, self.kind["links"]["nvswitches"], 12, "center", "white", bold=True, room=right - left)
        if not self.kind["links"]["unequal"]:
            return y + 38
        self.picture.text(self.left + MARGIN, y + 44, self.kind["links"]["unequal"], colour=LOST, bold=True, room=self.width - 2 * MARGIN)
        return y + 54


def _group_width(members):
    return 2 * GAP + sum(column.width for column in members) + BETWEEN_COLUMNS * (len(members) - 1)


def _width(bandwidth):
    return min(max(1.2 + 0.55 * math.sqrt(max(bandwidth, 0)), 1.5), 14)


def _shade(speed, speeds):
    return SHADES[3 - min(len(speeds) - 1 - speeds.index(speed), 3)]


def _number(value):
    return f"{value:.1f}".removesuffix(".0")


def _memory(count):
    """3.5 GiB; "" where it is unknown."""
    unit = 0
    while count >= 1024 and unit < 4:
        count, unit = count / 1024, unit + 1
    return f"{_number(count)} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}" if count else ""


def _model(gpu):
    """Without the maker's name, as the boxes are small."""
    model = gpu["model"] or gpu["pci_id"]
    for maker in MAKERS:
        model = model.removeprefix(maker)
    return model
