# SPDX-License-Identifier: Apache-2.0
"""Which launches make the table, and the arguments of each of them."""

from dataclasses import dataclass, replace

from .settings import DEFAULT, Setting

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 64, 512, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 8 * MIB, 64 * MIB)
ELEMENT = 4  # bytes of a float
VECTOR = ("all_reduce", "broadcast", "reduce")  # their size is the vector's; of the others all blocks together
COLLECTIVES = ("all_reduce", "all_gather", "broadcast", "scatter", "reduce_scatter", "all_to_all", "reduce",
               "gather")
INPUTS = ("untouched", "rewritten")  # between calls, as --input takes them
USUAL = (DEFAULT.name, INPUTS[0])
# Where ranks take turns on the cores, a call of 64 MiB takes a tenth of a second and more, so only those of
# ours take part that have won there.
CROWDED = ("one-shot", "two-shot", "linear", "tree", "butterfly")


@dataclass(frozen=True)
class Launch:
    """One start of the ranks: all candidates of a collective at all sizes, so that they alternate."""

    collective: str
    ranks: int
    algorithms: str  # ours, as --algo takes them
    share: float  # of the time for all launches
    beyond: float  # seconds that it takes over its --budget: limits, and the checks of its last size
    setting: Setting = DEFAULT
    input: str = INPUTS[0]

    @property
    def table(self):
        return f"{self.collective}-np{self.ranks}"

    @property
    def name(self):
        """Of its files; what is usual goes unsaid."""
        return "-".join(word for word in (self.table, self.setting.name, self.input) if word not in USUAL)

    def counts(self):
        """--counts: elements of the vector, or of one rank's block."""
        parts = 1 if self.collective in VECTOR else self.ranks
        return [max(1, size // (ELEMENT * parts)) for size in SIZES]

    def bench(self, seconds):
        """The words behind `tutti` that take about so long."""
        return ["bench", self.collective, "--counts", ",".join(map(str, self.counts())), "--inplace", "no",
                "--buffers", "registered,unregistered", "--algo", self.algorithms, "--transport", "shm",
                "--baseline", "mpi/all", "--input", self.input,
                # Where input is rewritten, the owner's cache alone has it, which the limits do not foresee.
                "--limits", "measure" if self.input == INPUTS[0] else "none",
                "--max-time", "2s", "--budget", f"{max(seconds - self.beyond, 3):.0f}s"]


LAUNCHES = (
    Launch("all_reduce", 2, "all", share=60, beyond=6),
    Launch("all_reduce", 8, ",".join(CROWDED), share=80, beyond=25),
    Launch("all_reduce", 4, ",".join(CROWDED), share=50, beyond=8),
    *(Launch(collective, 2, "all", share=37, beyond=6) for collective in COLLECTIVES[1:]),
)


def launches(tables, inputs, settings):
    """What is compared at a size follows one another, so that the machine has changed the least."""
    return [replace(launch, input=state, setting=setting) for launch in LAUNCHES if launch.table in tables
            for state in inputs for setting in settings]


def seconds_for(launch, later, seconds_left):
    """Its part of the time that is left, so that a slow launch is paid for by those after it."""
    return seconds_left * launch.share / (launch.share + sum(other.share for other in later))
