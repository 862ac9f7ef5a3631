# SPDX-License-Identifier: Apache-2.0
"""Candidates and their names."""

from dataclasses import dataclass, field

from tutti.knobs import KNOBS, in_words

from .naming import Names
from .units import size_words

MPI_NAMES = {"all_reduce": "MPI_Allreduce", "reduce_scatter": "MPI_Reduce_scatter_block",
             "all_gather": "MPI_Allgather", "broadcast": "MPI_Bcast", "reduce": "MPI_Reduce",
             "scatter": "MPI_Scatter", "gather": "MPI_Gather", "all_to_all": "MPI_Alltoall",
             "barrier": "MPI_Barrier", "scan": "MPI_Scan", "exscan": "MPI_Exscan",
             "reduce_scatter_v": "MPI_Reduce_scatter", "all_gather_v": "MPI_Allgatherv", "scatter_v": "MPI_Scatterv",
             "gather_v": "MPI_Gatherv", "all_to_all_v": "MPI_Alltoallv"}


@dataclass(frozen=True, order=True)
class Candidate:
    """An algorithm over a transport, or a library's own collective (a baseline)."""

    impl: str
    algo: str
    transport: str
    order: str = ""
    knobs: tuple = tuple(knob["default"] for knob in KNOBS)  # the value of each
    names: Names = field(default=Names(), compare=False, repr=False)

    @property
    def is_baseline(self):
        return self.impl != "tutti"

    @property
    def is_default(self):
        """A baseline whose algorithm was not forced."""
        return self.is_baseline and self.algo in ("", self.impl)

    @property
    def algorithm(self):
        """The algorithm, which a hue, a marker and a kind of line stand for."""
        if not self.is_baseline:
            return self.algo
        return self.impl if self.is_default else f"{self.impl}/{self.algo}"

    @property
    def variant(self):
        """The differences from other candidates of the same algorithm and transport, the default first."""
        return self.order, self.knobs[::-1]

    @property
    def label(self):
        """The name without the brackets of a library."""
        whole = self._label()
        spelled = (whole, f"{self.algorithm}/{self.transport}") if self.transport and not self._extras() else (whole,)
        return next((self.names.part(name) for name in spelled if name in self.names.parts), None) or self._label(self.names.part)

    def _label(self, named=lambda part: part):
        over = f" · {named(self.transport)}" if self.transport not in ("", self.algorithm) else ""
        extras = self._extras()
        return named(self.algorithm) + over + (f" ({', '.join(extras)})" if extras else "")

    def _extras(self):
        extras = [knob["legend"].format(size_words(value) if knob["is_size"] else in_words(knob, value))
                  for knob, value in zip(KNOBS, self.knobs, strict=True) if value != knob["default"]]
        extras += [f"order by {self.order}"] if self.order else []
        return extras

    @property
    def name(self):
        """The name in figures and tables: a library's is in brackets."""
        in_brackets = f"[{self._label()}]"
        if not self.is_baseline:
            return self.label
        return self.names.parts.get(in_brackets) or f"[{self.label}]"

    @property
    def is_renamed(self):
        return self.label != self._label() or f"[{self._label()}]" in self.names.parts

    @property
    def spellings(self):
        """The names by which --rename finds it."""
        whole = self._label()
        return {self.algorithm, self.transport, whole, *([f"[{whole}]"] if self.is_baseline else []),
                *([f"{self.algorithm}/{self.transport}"] if self.transport else [])}


def library_name(candidate, coll):
    """MPI_Allreduce; nccl."""
    if candidate.impl != "mpi" or candidate.is_renamed:
        return candidate.name.strip("[]")
    return MPI_NAMES.get(coll, "MPI") + ("" if candidate.is_default else f" ({candidate.algo})")
