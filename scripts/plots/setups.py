# SPDX-License-Identifier: Apache-2.0
"""Which launches repeat each other: launches that differ in what decides performance are never merged."""

from tutti.lines import launch_of
from tutti.series import OF_ONE_RUN

MACHINE = "machine"
ENVIRONMENT = "environment: "
FIRST = ("MPI", "UCX", "NCCL", "GPU", MACHINE, "tutti", "kernel")  # what readers ask for first


def facts_of(launch, session):
    """{word: text} of what must be equal for a launch to be a repetition of another; what is unknown is left out."""
    tool, plan = session.get("tool") or {}, session.get("plan") or {}
    hosts = launch.get("hosts") or []
    facts = {MACHINE: "; ".join(sorted({_host(host) for host in hosts})), "hosts": str(len(hosts) or ""),
             "kernel": ", ".join(sorted({host.get("kernel") or "" for host in hosts})),
             "topology": (launch.get("topo_sha256") or "")[:8],
             "GPU": ", ".join(sorted({gpu.get("model") or "" for gpu in launch.get("gpus") or []})),
             "tutti": " ".join(filter(None, (tool.get("version"), (tool.get("git") or "") + ("+changes" if tool.get("dirty") else ""),
                                             tool.get("build_type"), tool.get("compiler")))),
             "start": _word(plan.get("sync")), "pinning": _word(plan.get("pin"))}
    for word in ("mpi", "ucx", "nccl"):
        library = launch.get(word) or {}
        facts[word.upper()] = f"{library.get('vendor') or word.upper()} {library.get('version') or ''}".strip() if library else ""
    facts["CUDA"] = (launch.get("cuda") or {}).get("driver") or ""
    facts = {word: text for word, text in facts.items() if text}
    # A variable that is not there is one that is not set.
    return facts | {ENVIRONMENT + name: str(value) for name, value in (launch.get("env") or {}).items()
                    if not name.startswith(OF_ONE_RUN)}


class Setups:
    """The setup of each launch, and what the setups differ in."""

    def __init__(self, results):
        sessions = {(one["file"], one["id"]): one for one in results.sessions}
        self._setups = []     # the facts of each
        self._of_launch = {}  # {launch: number of its setup}
        self._named = []      # numbers of setups that had to be told apart
        for launch in results.launches:
            facts = facts_of(launch, sessions.get((launch["file"], launch.get("session")), {}))
            self._of_launch[launch_of(launch)] = self._number(facts)

    def _number(self, facts):
        for number, known in enumerate(self._setups):
            if _agree(known, facts):
                known |= facts
                return number
        self._setups.append(dict(facts))
        return len(self._setups) - 1

    def split(self, launches):
        """{launch: name of its setup}, "" for all where they repeat each other."""
        numbers = {launch: self._of_launch.get(launch) for launch in launches}
        if len(set(numbers.values()) - {None}) < 2:
            return {launch: "" for launch in launches}
        for number in sorted(set(numbers.values()) - {None} - set(self._named)):
            self._named.append(number)
        return {launch: self._name(number, sorted(set(numbers.values()) - {None})) for launch, number in numbers.items()}

    def differences(self):
        """(word, {letter: text}) of the setups that were told apart."""
        found = _differing([self._setups[number] for number in self._named])
        return [(word, {self._letter(number): self._setups[number].get(word, "") for number in self._named}) for word in found]

    def _letter(self, number):
        place = self._named.index(number)
        return chr(ord("A") + place) if place < 26 else str(place)

    def _name(self, number, rivals):
        if number is None:
            return "unknown setup"  # a file without records of its launches
        word = _differing([self._setups[rival] for rival in rivals])[0]
        text = self._setups[number].get(word) or "none"
        return f"setup {self._letter(number)}: {text if word in FIRST else f'{word} {text}'}"[:60]


def _differing(setups):
    """The words of what differs, the best known first."""
    words = dict.fromkeys(word for facts in setups for word in facts)
    return sorted((word for word in words if len({facts.get(word, "") for facts in setups}) > 1),
                  key=lambda word: FIRST.index(word) if word in FIRST else len(FIRST))


def _agree(some, others):
    return all(some.get(word) == others.get(word) if word.startswith(ENVIRONMENT) else
               some.get(word, text) == others.get(word, text) for word, text in {**some, **others}.items())


def _host(host):
    cores = f", {host['cores']} cores" if host.get("cores") else ""
    return (host.get("cpu_model") or "") + cores


def _word(text):
    return text if isinstance(text, str) else ""
