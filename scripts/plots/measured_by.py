# SPDX-License-Identifier: Apache-2.0
"""The commands that measured something, for a shell."""

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath

from .records import launch_of

# Variables that are no settings: numbers and folders of one run.
OF_ONE_RUN = ("SLURM_JOB", "TUTTI_")
RESULTS = ("--json", "-J", "--output_file")
FILES_OF_ONE_RUN = (*RESULTS, "--csv", "--resume", "--table")  # with a value


@dataclass(frozen=True)
class Run:
    """One command of one session, with its number of ranks."""

    words: tuple        # command line, program first
    nranks: int
    environment: tuple  # (name, value)
    repetitions: int

    @property
    def link(self):
        """The name under which the command has to be called, such as all_reduce_perf, in the folder of new measurements; "" for its own."""
        program = PurePath(self.words[0]).name if self.words else "tutti"
        return "" if program == "tutti" else shlex.quote(f"measured/{program}")

    @property
    def starts_ranks(self):
        """By itself: threads, or launches of its own."""
        return _is_comparison(self.words) or any(word.split("=")[0] in ("--ranks", "--launches", "--launcher") for word in self.words)

    @property
    def command(self):
        """In one line, as it was."""
        ranks = "" if self.starts_ranks else f"mpirun -n {self.nranks} "
        return ranks + _quoted(self.words) + (f"   # {self.repetitions} times" if self.repetitions > 1 else "")

    def again(self, file):
        """A shell line that measures the same into another file; $tutti and $mpirun are the reader's own, `link` leads to the first."""
        kept, skip = [], False
        for word in self.words[1:]:
            name, equals, _ = word.partition("=")
            if skip:
                skip = False
            elif name in FILES_OF_ONE_RUN and name != "--table":
                skip = not equals
            else:
                kept.append(word)
        program = self.link and f"./{self.link}" or '"$tutti"'
        ranks = "" if self.starts_ranks else f"$mpirun -n {self.nranks} "
        return f"{ranks}{program} {_quoted(kept)} --json {shlex.quote(file)}"


def _is_comparison(words):
    return "compare" in words[1:2]


def runs(results, points):
    """The commands that measured these points, in the order of the files."""
    wanted = list(dict.fromkeys(map(launch_of, points)))
    launches = {launch_of(one): one for one in results.launches}
    sessions = {(one["file"], one["id"]): one for one in results.sessions}
    found = {}
    for file, session, number in wanted:
        launch, typed = launches.get((file, session, number)), sessions.get((file, session))
        if typed is None or launch is None and not _is_comparison(typed["argv"]):
            continue
        launch = launch or {"nranks": 1}  # compare starts its jobs itself
        environment = tuple(sorted((name, str(value)) for name, value in (launch.get("env") or {}).items()
                                   if re.fullmatch(r"[A-Za-z_]\w*", name) and not name.startswith(OF_ONE_RUN)))
        found.setdefault((tuple(typed["argv"]), launch["nranks"], environment), set()).add((file, session))
    return [Run(words, nranks, environment, len(of_sessions)) for (words, nranks, environment), of_sessions in found.items()]


def _quoted(words):
    """One line, whatever is in the words."""
    return shlex.join(re.sub(r"[\x00-\x1f\x7f]", " ", word) for word in words)
