# SPDX-License-Identifier: Apache-2.0
"""The facts that must be equal for two times to be in one ranking."""

import zlib
from dataclasses import dataclass, replace

from tutti.names import collective_of

from .naming import Setup
from .units import counted

MEMORY = {"host": "unregistered", "": "unregistered", "cuda": "device"}  # the words of --buffers for those of records


@dataclass(frozen=True, order=True)
class Shape:
    """One collective on N ranks, on data of one kind in memory of one kind, measured by one setup."""

    coll: str
    nranks: int
    ppn: int
    dtype: str
    op: str
    root: int
    inplace: bool
    memory: str = ""
    placement: str = ""  # virtual ranks; or the nodes that were pretended
    input: str = ""      # rewritten before each call
    blocks: str = ""     # rule for the lengths of blocks, if they differ
    aggressor: str = ""  # program next to the ranks, if there is one
    setup: Setup = Setup()  # machine, library and tutti, if the files have several

    @property
    def title(self):
        return f"{self.coll}, {counted(self.nranks, 'rank')}"

    @property
    def details(self):
        parts = [self.dtype if self.op == "none" else f"{self.dtype} {self.op}"]
        parts += [f"root {self.root}"] if self.root >= 0 else []
        parts += [counted(self.ppn, "rank") + " on a host"] if self.ppn else []
        parts += ["in place" if self.inplace else "out of place"]
        parts += [f"{self.memory} memory"] if self.memory else []
        parts += [word for word in (self.placement, self.input and f"input {self.input}", self.blocks and f"{self.blocks} blocks",
                                  self.aggressor and f"next to {self.aggressor}", self.setup.details) if word]
        return ", ".join(parts)

    @property
    def slug(self):
        """For anchors and file names, so only letters, digits and dashes."""
        parts = [self.coll, self.nranks, self.ppn, self.dtype, self.op]
        parts += [f"root{self.root}"] if self.root >= 0 else []
        parts += ["in" if self.inplace else "out", self.memory, self.placement, self.input, self.blocks, self.aggressor, self.setup.slug]
        return slug_of("-".join(str(part) for part in parts if part != ""))

    def family(self, *free):
        """All but these fields, which then stand side by side in one figure."""
        return replace(self, **{name: type(getattr(self, name))() for name in free})


def slug_of(text):
    """Texts that lose letters get the check sum of all of them, so that two names stay two."""
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-")
    return slug if text.isascii() and len(slug) <= 120 else f"{slug[:111]}-{zlib.crc32(text.encode()):08x}".strip("-")


def shape_of(key, setup=Setup()):
    """Reads the shape from a point's key."""
    buf = key.get("buf") or ""
    return Shape(collective_of(key), key["nranks"], key.get("ppn") or 0, key["dtype"], key["op"], key["root"], key["inplace"],
                 MEMORY.get(buf, buf), key.get("placement") or "", key.get("input") or "", key.get("blocks") or "",
                 key.get("aggressor") or "", setup)


WORDS = {"coll": lambda s: s.coll, "nranks": lambda s: counted(s.nranks, "rank"),
         "ppn": lambda s: f"{s.ppn} on a host", "dtype": lambda s: s.dtype, "op": lambda s: "" if s.op == "none" else s.op,
         "root": lambda s: f"root {s.root}" if s.root >= 0 else "",
         "inplace": lambda s: "in place" if s.inplace else "out of place",
         "memory": lambda s: s.memory, "placement": lambda s: s.placement,
         "input": lambda s: f"input {s.input}" if s.input else "",
         "blocks": lambda s: f"{s.blocks} blocks" if s.blocks else "",
         "aggressor": lambda s: f"next to {s.aggressor}" if s.aggressor else "", "setup": lambda s: s.setup.title}
# For the rows of a figure.
SHORT = WORDS | {"ppn": lambda s: f"{s.ppn}/host", "inplace": lambda s: "in" if s.inplace else "out",
                 "setup": lambda s: s.setup.short}


def distinguishing(shapes, words=None):
    """{shape: few words}: the collective, and only what differs between these shapes."""
    words = words or WORDS
    differing = [name for name in words if len({getattr(shape, name) for shape in shapes}) > 1]
    # Leaves out what follows from the collective or from the number of ranks.
    if _follows(shapes, "coll", lambda shape: (shape.op, shape.root)):
        differing = [name for name in differing if name not in ("op", "root")]
    if _follows(shapes, "nranks", lambda shape: shape.ppn):
        differing = [name for name in differing if name != "ppn"]
    keep = ["coll", *(name for name in differing if name != "coll")]
    return {shape: ", ".join(filter(None, (words[name](shape) for name in keep))) for shape in shapes}


def _follows(shapes, field, value):
    found = {}
    for shape in shapes:
        found.setdefault(getattr(shape, field), set()).add(value(shape))
    return all(len(values) == 1 for values in found.values())
