# SPDX-License-Identifier: Apache-2.0
"""Names of records: the metric, as `tutti compare` names it, and the id of its key."""

import hashlib
import json
import re

from .columns import FIELDS
from .knobs import KNOBS, in_words


def size_text(count):
    """512, 4K, 64M: the shortest exact form, K = 1024, as tutti prints it."""
    for unit in ("", "K", "M", "G", "T"):
        if count == 0 or count % 1024 or unit == "T":
            return f"{count}{unit}"
        count //= 1024


def metric_of(record):
    """Names what was measured, as metric_of in results/records: "all_reduce 4K float sum registered ring (shm), 4 ranks on 2 hosts".
    None of other records."""
    kind, key = record["kind"], record.get("key")
    if kind == "point":
        return f"{call_in_words(key)} {candidate_in_words(key)}{_place_of(key)}"
    if kind in ("step", "partial_step"):
        named = (key.get(name) for name in ("workload", "model", "compute", "settings", "buffers", "way"))
        return " ".join(filter(None, named)) + _place_of(key)
    return record.get("metric") if kind in ("pair", "verdict") else None


def without_place(metric):
    """Removes ranks, hosts and placement from a metric's name: files and databases of older versions have names without them."""
    return re.sub(r", \d+ ranks?\b.*?(?= -> |$)", "", metric)


def hosts_of(key):
    """The number of hosts: ranks divided by the ranks on each host, rounded up."""
    return -(-key["nranks"] // (key.get("ppn") or key["nranks"]))


def _place_of(key):
    """", 4 ranks on 2 hosts", and the placement if the user chose one."""
    if not key.get("nranks"):
        return ""
    places = [("rank", key["nranks"])] + [("host", hosts) for hosts in [hosts_of(key)] if hosts > 1]
    words = " on ".join(f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in places)
    return ", " + ", ".join(filter(None, [words, key.get("placement")]))


def collective_of(key):
    """The collective as commands name it: all_gather, or all_gather_v if its blocks have lengths of their own."""
    return key["coll"] + ("_v" if key.get("blocks") else "")


def call_in_words(key):
    """The same as the name of a call in results/records/key.cpp."""
    words = [collective_of(key), size_text(key["bytes"]), key["dtype"], key["op"] if key["op"] != "none" else "",
             f"root {key['root']}" if key["root"] >= 0 else "", "in place" if key["inplace"] else "", key["buf"],
             key.get("input"), key.get("blocks"), f"next to {key['aggressor']}" if key.get("aggressor") else ""]
    return " ".join(filter(None, words))


def candidate_in_words(key):
    """The same as the name of a candidate in results/records/key.cpp: "ring[x2] (shm)", "mpi/ring"."""
    in_brackets = ",".join(_knobs_of(key))
    knobs = f"[{in_brackets}]" if in_brackets else ""
    if key["impl"] != "tutti":
        forced = key["algo"] if key["algo"] != key["impl"] else ""  # older files name libraries this way
        return key["impl"] + (f"/{forced}" if forced else "") + knobs
    order = key.get("order")
    name = key["algo"] + knobs + (f"@{order}" if order else "")
    return name + (f" ({key['transport']})" if key["transport"] else "")


def _knobs_of(key):
    """The knobs that differ from their defaults. Fields that another version added are among them, so that no two keys get one name."""
    values = [(knob, key.get(knob["key"], knob["default"])) for knob in KNOBS]
    known = [f"{knob['mark']}{size_text(value) if knob['is_size'] else in_words(knob, value)}" for knob, value in values if value != knob["default"]]
    return known + [f"{name}={value}" for name, value in key.items() if name not in FIELDS and all(name != knob["key"] for knob in KNOBS)]


def key_id(record):
    """16 hex digits, equal for equal keys: of a point its id. None of records without a key."""
    if "key" not in record:
        return None
    return record.get("point") or short_hash(json.dumps(record["key"], separators=(",", ":"), ensure_ascii=False))


def short_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
