# SPDX-License-Identifier: Apache-2.0
"""What a reader must know before believing a number: of a launch, of a point, of all that a figure shows."""

from collections import defaultdict
from dataclasses import dataclass

from tutti.intervals import interval_of
from tutti.lines import launch_of

from .units import counted

# As `tutti bench` says in the head of its table.
BUSY_LOAD = 0.75
VIRTUAL = "virtual ranks"
SIMULATED = "simulated"
ONE_LAUNCH = "one launch"
OF_ONE_LAUNCH = "intervals are of the calls of one launch, and launches differ by more (repeat with --launches 6)"
WIDE = 0.10  # half of an interval over its median


@dataclass(frozen=True, order=True)
class Note:
    """A short mark, and what it means here."""

    mark: str
    text: str


class Trust:
    """Looks at the launches once; answers for any points of them."""

    def __init__(self, results):
        self._plan = {(one["file"], one["id"]): one.get("plan") or {} for one in results.sessions}
        self._launches = {launch_of(one): one for one in results.launches}
        self._at_deadlines = {}  # {(launch, ranks): bool}, as far as it was asked
        self._ends = {launch_of(end): end for end in results.ends}
        self._open = {launch for launch in self._launches if launch not in self._ends}

    def is_oversubscribed(self, launch):
        cores = self._cores(launch)
        return bool(cores) and self._launches[launch]["nranks"] > cores

    def is_disturbed(self, point):
        """Ranks with a core each start at a deadline. Where they missed most of them, others had the cores: bench took
        barriers instead, or threw most calls away."""
        return ((point.get("mode") == "barrier" or (point.get("n_invalid") or 0) > point["n"])
                and self._starts_at_deadlines(launch_of(point), point["key"]["nranks"]))

    def _starts_at_deadlines(self, launch, nranks):
        """Not of several hosts, whose clocks may forbid it, nor where something else was asked for."""
        if (launch, nranks) not in self._at_deadlines:
            file, session, _ = launch
            hosts = self._launches.get(launch, {}).get("hosts") or []
            asked = self._plan.get((file, session), {}).get("sync") or "auto"
            self._at_deadlines[launch, nranks] = len(hosts) == 1 and asked == "auto" and not 0 < self._cores(launch) < nranks
        return self._at_deadlines[launch, nranks]

    def notes(self, points):
        """Of the measured among these points or steps, the gravest first."""
        measured = [point for point in points if not point.get("skipped")]
        launches = list(dict.fromkeys(map(launch_of, measured)))
        found = [*self._simulated(measured, launches), *self._oversubscribed(launches), *self._busy(launches),
                 *self._in_bad_health(launches), *self._disturbed(measured), *_beaten(measured), *_few(measured), *_wide(measured)]
        if len(launches) == 1:
            found.append(Note(ONE_LAUNCH, OF_ONE_LAUNCH))
        if broken := [launch for launch in launches if launch in self._open]:
            found.append(Note("interrupted", f"{len(broken)} of {counted(len(launches), 'launch', 'launches')} did not run to the end"))
        return found

    def _cores(self, launch):
        """That the ranks of a launch may use; 0 where it is not known."""
        hosts = self._launches.get(launch, {}).get("hosts") or []
        return sum(min(host.get("cores") or 0, host.get("cgroup_cpus") or host.get("cores") or 0) for host in hosts)

    def _simulated(self, points, launches):
        gpus = {gpu.get("model") or "" for launch in launches for gpu in self._launches.get(launch, {}).get("gpus") or []}
        if any(SIMULATED in model.lower() for model in gpus):
            yield Note("simulated GPU", "threads of the CPU stand for GPUs: the times mean nothing")
        virtual = sum((point["key"].get("placement") or "").startswith(VIRTUAL) for point in points)
        if virtual:
            yield Note(VIRTUAL, "several ranks share one GPU: the times say nothing of links between GPUs")

    def _oversubscribed(self, launches):
        found = {(self._launches[launch]["nranks"], self._cores(launch)) for launch in launches if self.is_oversubscribed(launch)}
        if found:
            said = ", ".join(f"{nranks} ranks on {counted(int(cores), 'core')}" for nranks, cores in sorted(found))
            yield Note("oversubscribed", f"{said}: ranks take turns, so the times are the scheduler's as much as the algorithm's")

    def _busy(self, launches):
        loads = [(host["loadavg1"], host["cores"]) for launch in launches
                 for host in self._launches.get(launch, {}).get("hosts") or []
                 if host.get("loadavg1") and host.get("cores") and host["loadavg1"] > BUSY_LOAD * host["cores"]]
        if loads:
            worst, cores = max(loads, key=lambda load: load[0] / load[1])
            yield Note("busy", f"load up to {worst:.1f} on {counted(cores, 'core')} as {_some(loads, launches)} began (own launches "
                               "just before count)")

    def _in_bad_health(self, launches):
        """What tutti found wrong with a host as a launch began, or over it: one note, as all of it is of the machine."""
        wrong = defaultdict(dict)  # {(host, name of the reading): {launch: what to say}}
        for launch in launches:
            for record in (self._launches.get(launch, {}), self._ends.get(launch, {})):
                for host in record.get("health") or []:
                    for reading in host["readings"]:
                        if reading.get("wrong"):
                            wrong[host["host"], reading["name"]][launch] = reading["wrong"]
        if wrong:
            said = [f"{host}: {list(by_launch.values())[-1]}" + (f" ({_some(by_launch, launches)})" if len(launches) > 1 else "")
                    for (host, _), by_launch in sorted(wrong.items())]
            yield Note("host in trouble", "; ".join(said))

    def _disturbed(self, points):
        disturbed = [point for point in points if "t_ns" in point and self.is_disturbed(point)]
        if disturbed:
            yield Note("disturbed", f"others took the cores in {counted(len(disturbed), 'point')} of {len(points)}, marked †")


def shared_notes(sections):
    """Of several sections each mark once, whatever it says of which."""
    return list({note.mark: note for section in sections for note in section.notes}.values())


def _some(loads, launches):
    return "the launch" if len(launches) == 1 else f"{min(len(loads), len(launches))} of {len(launches)} launches"


def beats_limit(point):
    """By more than its interval explains."""
    return "t_ns" in point and (point.get("limit_ns") or 0) > point["ci95_p50_ns"][1]


def _beaten(points):
    beaten = [100 * point["limit_ns"] / max(point["t_ns"]["p50"], 1) for point in points if beats_limit(point)]
    if beaten:
        yield Note("limit too high", f"{counted(len(beaten), 'point')} of {len(points)} took less than the limit says is "
                                           f"possible (up to {max(beaten):.0f} % of it): its least time is too high, measure it anew "
                                           "(tutti limits)")


def _few(points):
    for word, field in (("calls", "t_ns"), ("steps", "step_ns")):
        found = [interval_of(point) for point in points if field in point]
        if few := found.count(None):
            yield Note(f"too few {word}", f"{counted(few, 'median')} of {len(found)} come from fewer than six {word}, which have no 95 % "
                                          "interval (?): measure them for longer, or in more launches")


def _wide(points):
    def half(point):
        low, high = interval_of(point) or (0, 0)
        return (high - low) / 2 / max(point["t_ns"]["p50"], 1)
    wide = sum(half(point) > WIDE for point in points if "t_ns" in point)
    if wide:
        yield Note("unsteady", f"{counted(wide, 'median')} of {len(points)} not known to {100 * WIDE:.0f} %")
