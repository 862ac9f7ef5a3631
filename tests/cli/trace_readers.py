# SPDX-License-Identifier: Apache-2.0
"""Read exported schedules for simulators, as their formats define them: GOAL and Chakra execution traces. Both become nodes, which
are executed: messages match by sender, receiver and tag, and a send ends when its receive has begun, as in a rendezvous."""
import re
from typing import NamedTuple

from plan_interpreters import Broken, need

COMPUTE, SEND, RECEIVE = 4, 5, 6  # the numbers are Chakra's


class Node(NamedTuple):
    kind: int
    peer: int
    tag: int
    size: int
    time: int
    after: list  # positions


STATEMENT = re.compile(r"(?P<label>\w+): (?:(?P<verb>send|recv) (?P<size>\d+)b (?:to|from) (?P<peer>\d+) tag (?P<tag>\d+)|calc (?P<time>\d+))")
ARROW = re.compile(r"(\w+) requires (\w+)")


def read_goal(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    head = re.fullmatch(r"num_ranks (\d+)", lines[0] if lines else "")
    need(head, "no num_ranks")
    ranks, labels = [], None
    for line in lines[1:]:
        begin = re.fullmatch(r"rank (\d+) \{", line)
        if begin:
            need(labels is None and int(begin[1]) == len(ranks), "a rank out of order")
            ranks.append([])
            labels = {}
        elif line == "}":
            need(labels is not None, "a closed rank")
            labels = None
        elif (found := STATEMENT.fullmatch(line)) and labels is not None:
            need(found["label"] not in labels, "a repeated label")
            labels[found["label"]] = len(ranks[-1])
            kind = {"send": SEND, "recv": RECEIVE, None: COMPUTE}[found["verb"]]
            need(kind == COMPUTE or ("to" if kind == SEND else "from") in line.split(), "a direction")
            ranks[-1].append(Node(kind, *(int(found[name] or 0) for name in ("peer", "tag", "size", "time")), []))
        elif (found := ARROW.fullmatch(line)) and labels is not None:
            need(found[1] in labels and found[2] in labels, "an unknown label")
            ranks[-1][labels[found[1]]].after.append(labels[found[2]])
        else:
            raise Broken(f"not GOAL: {line}")
    need(labels is None and len(ranks) == int(head[1]), "missing ranks")
    return ranks


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 64, "a cut number")
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Yields (number, value) of a protobuf message whose fields are numbers and bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        need(tag >> 3 and tag & 7 in (0, 2), "a wire type")
        if tag & 7 == 2:
            need(at + value <= len(data), "cut bytes")
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def read_chakra(files):
    """`files` has the bytes of each rank's file."""
    return [read_trace(data) for data in files]


def read_trace(data):
    at, messages, nodes, ids = 0, [], [], {}
    while at < len(data):
        size, at = varint(data, at)
        need(at + size <= len(data), "a cut message")
        messages.append(data[at:at + size])
        at += size
    need(messages and dict(fields(messages[0])).get(1, b"").startswith(b"0."), "no metadata")
    for message in messages[1:]:
        found, attributes, after = {}, {}, []
        for number, value in fields(message):
            if number == 10:
                attribute = dict(fields(value))
                need(1 in attribute and (7 in attribute or 9 in attribute), "an attribute")
                attributes[attribute[1].decode()] = attribute.get(7, attribute.get(9))
            elif number == 5:
                place = 0
                while place < len(value):
                    before, place = varint(value, place)
                    after.append(before)
            else:
                found[number] = value
        kind = found.get(3)
        need(kind in (COMPUTE, SEND, RECEIVE) and found.get(1) not in ids and found.get(2), "a node")
        need(kind == COMPUTE or attributes.get("comm_type") == kind, "a communication's type")
        peer = attributes.get({SEND: "comm_dst", RECEIVE: "comm_src"}.get(kind), 0 if kind == COMPUTE else None)
        need(peer is not None and (kind == COMPUTE or {"comm_size", "comm_tag"} <= set(attributes)), "a message's attributes")
        need(all(before in ids for before in after), "an unknown node")
        ids[found.get(1)] = len(nodes)
        nodes.append(Node(kind, peer, attributes.get("comm_tag", 0), attributes.get("comm_size", 0), found.get(7, 0),
                          [ids[before] for before in after]))
    return nodes


def execute(ranks):
    """Runs all nodes. Returns the ranks that each rank has learned of, and the bytes that each rank sent to each other."""
    tags = set()
    known = [[None] * len(nodes) for nodes in ranks]  # by node, once it has ended
    sent, begun = {}, {}
    left = sum(map(len, ranks))

    def is_ready(rank, node):
        return all(known[rank][before] is not None for before in node.after)

    def learned(rank, node):
        return {rank}.union(*(known[rank][before] for before in node.after))

    while left:
        before_pass = left, len(begun)
        for rank, nodes in enumerate(ranks):
            for position, node in enumerate(nodes):
                if known[rank][position] is not None or not is_ready(rank, node):
                    continue
                if node.kind == COMPUTE:
                    known[rank][position] = learned(rank, node)
                    left -= 1
                    continue
                need(0 <= node.peer < len(ranks) and node.peer != rank and node.size > 0, "a peer or size")
                pair = (rank, node.peer) if node.kind == SEND else (node.peer, rank)
                mine, other = (*pair, node.tag, node.kind), (*pair, node.tag, SEND + RECEIVE - node.kind)
                need(begun.setdefault(mine, position) == position, f"a repeated tag {node.tag}")
                if other not in begun:
                    continue
                partner, place = node.peer, begun[other]
                need(ranks[partner][place].size == node.size, "sizes that differ")
                sender, send = (rank, node) if node.kind == SEND else (partner, ranks[partner][place])
                receiver = node.peer if node.kind == SEND else rank
                need(node.tag not in tags, f"a repeated tag {node.tag}")
                tags.add(node.tag)
                sent[sender, receiver] = sent.get((sender, receiver), 0) + node.size
                facts = learned(sender, send)
                known[partner][place], known[rank][position] = facts, facts
                left -= 2
        need((left, len(begun)) != before_pass, "deadlock, or a message without its other end")
    return [{rank}.union(*facts) for rank, facts in enumerate(known)], sent
