# SPDX-License-Identifier: Apache-2.0
"""The launches of the table and their arguments."""

from dataclasses import dataclass, replace

from .settings import DEFAULT, Setting

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 64, 512, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 8 * MIB, 64 * MIB)
ELEMENT = 4  # bytes of a float
VECTOR = ("all_reduce", "broadcast", "reduce")  # size of the vector; for the others that of all blocks together
COLLECTIVES = ("all_reduce", "all_gather", "broadcast", "scatter", "reduce_scatter", "all_to_all", "reduce",
               "gather")
INPUTS = ("untouched", "rewritten")  # between calls, as --input takes them
USUAL = (DEFAULT.name, INPUTS[0])
# If ranks share cores, a call of 64 MiB takes a tenth of a second or more, so only our winning algorithms take part.
CROWDED = ("one-shot", "two-shot", "linear", "tree", "butterfly")


@dataclass(frozen=True)
class Launch:
    """A launch with all candidates of a collective at all sizes, which alternate."""

    collective: str
    ranks: int
    algorithms: str  # for --algo
    share: float  # share of the time for all launches
    beyond: float  # seconds in addition to --budget: limits, and checks of the last size
    setting: Setting = DEFAULT
    input: str = INPUTS[0]

    @property
    def table(self):
        return f"{self.collective}-np{self.ranks}"

    @property
    def name(self):
        """The name of its files, without usual settings."""
        return "-".join(word for word in (self.table, self.setting.name, self.input) if word not in USUAL)

    def counts(self):
        """Returns --counts: elements of the vector or of one rank's block."""
        parts = 1 if self.collective in VECTOR else self.ranks
        return [max(1, size // (ELEMENT * parts)) for size in SIZES]

    def bench(self, seconds):
        """Returns arguments of `tutti` for a launch of about this duration."""
        return ["bench", self.collective, "--counts", ",".join(map(str, self.counts())), "--inplace", "no",
                "--buffers", "registered,unregistered", "--algo", self.algorithms, "--transport", "shm",
                "--baseline", "mpi/all", "--input", self.input,
                # Rewritten input is only in its owner's cache, which the limits do not consider.
                "--limits", "measure" if self.input == INPUTS[0] else "none",
                "--max-time", "2s", "--budget", f"{max(seconds - self.beyond, 3):.0f}s"]


LAUNCHES = (
    Launch("all_reduce", 2, "all", share=60, beyond=6),
    Launch("all_reduce", 8, ",".join(CROWDED), share=80, beyond=25),
    Launch("all_reduce", 4, ",".join(CROWDED), share=50, beyond=8),
    *(Launch(collective, 2, "all", share=37, beyond=6) for collective in COLLECTIVES[1:]),
)


def launches(tables, inputs, settings):
    """Orders launches that are compared next to each other, so that the machine changes little between them."""
    return [replace(launch, input=state, setting=setting) for launch in LAUNCHES if launch.table in tables
            for state in inputs for setting in settings]


def seconds_for(launch, later, seconds_left):
    """Returns its share of the remaining time, so that later launches compensate a slow one."""
    return seconds_left * launch.share / (launch.share + sum(other.share for other in later))
