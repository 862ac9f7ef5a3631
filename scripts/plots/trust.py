# SPDX-License-Identifier: Apache-2.0
"""What a reader must know before believing a number: of a launch, of a point, of all that a figure shows."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from tutti.intervals import interval_of
from tutti.lines import launch_of

from .units import counted, ratio_text, size_text

# As `tutti bench` says in the head of its table.
HIGH_LOAD = 0.75
FADES = timedelta(minutes=2)  # so long the load of a launch is seen in that of the last minute
VIRTUAL = "virtual ranks"
SIMULATED = "simulated"
ONE_LAUNCH = "one launch"
OF_ONE_LAUNCH = "intervals are of the calls of one launch, and launches differ by more (repeat with --launches 6)"
WIDE = 0.10  # half of an interval over its median
MOST = 0.5   # from this share on something is true of most
SOME = 0.1
STALL = "cpu_stall_pct"
WAITED_LONG = 50  # percent of the time that programs waited for a core
LIMIT_CHANGED = 1.5  # times, between launches
MOST_REASONS = 3
MOST_NAMED = 4  # launches by their numbers

NONE_ON_TIME = "no call began on time"  # why bench skipped a point
OF_SIZE = ("coll", "bytes", "inplace", "buf", "nranks", "op", "dtype")

# How grave a note is: what it leaves to be trusted.
INFORMS, RANKING_ONLY, NOTHING = 0, 1, 2
DISTURBED = "†"


@dataclass(frozen=True, order=True)
class Note:
    """A short mark, and what it means here; how grave it is, and the few words for that."""

    mark: str
    text: str
    weight: int = field(default=INFORMS, compare=False)
    because: str = field(default="", compare=False)


class Trust:
    """Looks at the launches once; answers for any points of them."""

    def __init__(self, results):
        self._plan = {(one["file"], one["id"]): one.get("plan") or {} for one in results.sessions}
        self._launches = {launch_of(one): one for one in results.launches}
        self._at_deadlines = {}  # {(launch, ranks): bool}, as far as it was asked
        self._late = {_size_of(point) for point in results.points if (point.get("skipped") or "").startswith(NONE_ON_TIME)}
        self._ends = {launch_of(end): end for end in results.ends}
        self._times = {launch: _times(one, self._ends.get(launch, {})) for launch, one in self._launches.items()}
        self._open = {launch for launch in self._launches if launch not in self._ends}

    def is_oversubscribed(self, launch):
        cores = self._cores(launch)
        return bool(cores) and self._launches[launch]["nranks"] > cores

    def is_disturbed(self, point):
        """Ranks with a core each start at a deadline. Where they missed most of them, others had the cores: bench took
        barriers instead, threw most calls away, or got too few of them at a size that it had to skip for other candidates."""
        return ((point.get("mode") == "barrier" or (point.get("n_invalid") or 0) > point["n"]
                 or _size_of(point) in self._late and interval_of(point) is None)
                and self._starts_at_deadlines(launch_of(point), point["key"]["nranks"]))

    def _starts_at_deadlines(self, launch, nranks):
        """Not of several hosts, whose clocks may forbid it, nor where something else was asked for."""
        if (launch, nranks) not in self._at_deadlines:
            file, session, _ = launch
            hosts = self._launches.get(launch, {}).get("hosts") or []
            asked = self._plan.get((file, session), {}).get("sync") or "auto"
            self._at_deadlines[launch, nranks] = len(hosts) == 1 and asked == "auto" and not 0 < self._cores(launch) < nranks
        return self._at_deadlines[launch, nranks]

    def notes(self, points, cells=()):
        """Of the measured among these points or steps, and of what is shown of them (cells over all launches), the gravest first."""
        measured = [point for point in points if not point.get("skipped")]
        launches = list(dict.fromkeys(map(launch_of, measured)))
        found = [*self._simulated(measured, launches), *self._oversubscribed(launches), *self._in_bad_health(launches),
                 *self._disturbed(measured), *_wide(cells), *_few(measured), *_beaten(cells), *_changed_limit(cells),
                 *self._loaded(launches)]
        if len(launches) == 1:
            found.append(Note(ONE_LAUNCH, OF_ONE_LAUNCH, RANKING_ONLY, "one launch"))
        if broken := [launch for launch in launches if launch in self._open]:
            found.append(Note("interrupted", f"{len(broken)} of {counted(len(launches), 'launch', 'launches')} did not run to the end"))
        found += _skipped(points)
        return sorted(found, key=lambda note: -note.weight)

    def _cores(self, launch):
        """That the ranks of a launch may use; 0 where it is not known."""
        hosts = self._launches.get(launch, {}).get("hosts") or []
        return sum(min(host.get("cores") or 0, host.get("cgroup_cpus") or host.get("cores") or 0) for host in hosts)

    def _simulated(self, points, launches):
        gpus = {gpu.get("model") or "" for launch in launches for gpu in self._launches.get(launch, {}).get("gpus") or []}
        if any(SIMULATED in model.lower() for model in gpus):
            yield Note("simulated GPU", "threads of the CPU stand for GPUs: the times mean nothing", NOTHING, "GPUs are simulated")
        virtual = sum((point["key"].get("placement") or "").startswith(VIRTUAL) for point in points)
        if virtual:
            yield Note(VIRTUAL, "several ranks share one GPU: the times say nothing of links between GPUs", NOTHING,
                       "several ranks share one GPU")

    def _oversubscribed(self, launches):
        found = {(self._launches[launch]["nranks"], self._cores(launch)) for launch in launches if self.is_oversubscribed(launch)}
        if found:
            said = ", ".join(f"{nranks} ranks on {counted(int(cores), 'core')}" for nranks, cores in sorted(found))
            yield Note("oversubscribed", f"{said}: ranks take turns, so the times are the scheduler's as much as the algorithm's", NOTHING,
                       said)

    def _loaded(self, launches):
        loads = {launch: (host["loadavg1"], host["cores"]) for launch in launches
                 for host in self._launches.get(launch, {}).get("hosts") or []
                 if host.get("loadavg1") and host.get("cores") and host["loadavg1"] - self._own_load(launch) > HIGH_LOAD * host["cores"]}
        if loads:
            worst, cores = max(loads.values(), key=lambda load: load[0] / load[1])
            said = f"up to {worst:.1f} on {counted(cores, 'core')}"
            yield Note("load before start", f"{said} as {_some(loads, launches)} began, more than own launches just before explain"
                       if len(launches) > 1 else f"{said} as the launch began", RANKING_ONLY, f"load before the start {said}")

    def _own_load(self, launch):
        """What the load of the last minute may owe to launches here that ended shortly before this one began: they follow each other."""
        began, _ = self._times.get(launch, (None, None))
        return max((self._launches[other].get("nranks") or 0 for other, (_, ended) in self._times.items()
                    if began and ended and other != launch and timedelta() < began - ended < FADES), default=0)

    def _in_bad_health(self, launches):
        """What tutti found wrong with a host as a launch began, or over it: one note, as all of it is of the machine."""
        wrong = defaultdict(dict)  # {(host, name of the reading): {launch: the reading}}
        for launch in launches:
            for record in (self._launches.get(launch, {}), self._ends.get(launch, {})):
                for host in record.get("health") or []:
                    for reading in host["readings"]:
                        if reading.get("wrong"):
                            wrong[host["host"], reading["name"]][launch] = reading
        if wrong:
            said = {place: _of_readings(place[1], list(by_launch.values())) + (f" in {_some(by_launch, launches)}" if len(launches) > 1 else "")
                    for place, by_launch in sorted(wrong.items())}
            most, worst = max(((reading["value"], place) for place, by_launch in wrong.items() if place[1] == STALL
                               for reading in by_launch.values()), default=(0, next(iter(said))))
            quiet = _quiet(launches, wrong) if most >= WAITED_LONG else ""
            texts = [f"{host}: {text}" for (host, _), text in said.items()]
            yield Note("host in trouble", "; ".join(texts + [quiet] * bool(quiet)), NOTHING if most >= WAITED_LONG else RANKING_ONLY,
                       said[worst] if most >= WAITED_LONG else texts[0])

    def _disturbed(self, points):
        disturbed = [point for point in points if "t_ns" in point and self.is_disturbed(point)]
        if disturbed:
            share = len(disturbed) / len(points)
            said = f"others took the cores in {counted(len(disturbed), 'point')} of {len(points)}"
            yield Note("disturbed", f"{said}, marked {DISTURBED}", NOTHING if share > MOST else RANKING_ONLY if share > SOME else INFORMS, said)


def _times(launch, end):
    """(when it began, when it ended), each None where it is not known."""
    began = None
    try:
        began = datetime.fromisoformat(launch.get("t", "").replace("Z", "+00:00"))
        began = began if began.tzinfo else began.replace(tzinfo=timezone.utc)  # as tutti writes it
        return began, began + timedelta(microseconds=end["wall_ns"] / 1000) if end.get("wall_ns") else None
    except (ValueError, OverflowError):  # no time, or one beyond the year 9999
        return began, None


def _size_of(point):
    """What it shares with those that differ in nothing but the candidate."""
    return launch_of(point), *(point["key"].get(name) for name in OF_SIZE)


def _of_readings(name, readings):
    """What to say of one thing that was wrong, in one launch or in several."""
    values = sorted(round(reading.get("value") or 0) for reading in readings)
    span = f"{values[0]} to {values[-1]}" if values[0] < values[-1] else str(values[0])
    if name == STALL:
        return f"programs waited for a core {span} % of the time"
    if name != "preemptions_per_s":
        return readings[-1]["wrong"]
    ranks = {reading.get("of") or "a rank" for reading in readings}
    whose = f"{ranks.pop()}'s core" if len(ranks) == 1 else "a rank's core"
    return f"{whose} was taken {span} times a second"


def _quiet(launches, wrong):
    """Which launches, as numbered in the order of the files, did not wait long for a core: "" of none."""
    waited = {launch for (_, name), by_launch in wrong.items() if name == STALL for launch in by_launch}
    numbers = [str(number) for number, launch in enumerate(launches, start=1) if launch not in waited]
    if not numbers:
        return ""
    if len(numbers) > MOST_NAMED:
        return f"the other {len(numbers)} launches hardly waited for a core"
    return f"{'launch' if len(numbers) == 1 else 'launches'} {' and '.join(filter(None, (', '.join(numbers[:-1]), numbers[-1])))} hardly waited for a core"


def _some(loads, launches):
    return "the launch" if len(launches) == 1 else f"{min(len(loads), len(launches))} of {len(launches)} launches"


def _beaten(cells):
    beaten = [cell.percent_of_limit for cell in cells if cell.beats_limit]
    if beaten:
        yield Note("limit too high", f"{counted(len(beaten), 'median')} of {len(cells)} took less than the limit says is "
                   f"possible (up to {max(beaten):.0f} % of it): its least time is too high, measure it anew (tutti limits)",
                   RANKING_ONLY, f"{counted(len(beaten), 'time')} beyond the limit")


def _changed_limit(cells):
    """The least limit of the launches counts: where they are far apart, who knows which is true."""
    changed = {}
    for cell in cells:
        if cell.limit_change > LIMIT_CHANGED:
            changed[cell.size] = max(cell.limit_change, changed.get(cell.size, 0))
    if changed:
        sizes = size_text(min(changed)) + (f" to {size_text(max(changed))}" if len(changed) > 1 else "")
        yield Note("limit unsteady", f"between launches the limit changed up to {ratio_text(max(changed.values()))}-fold ({sizes}): % of limit "
                   "is soft there, and is of the least")


def _few(points):
    for word, field_ in (("calls", "t_ns"), ("steps", "step_ns")):
        found = [interval_of(point) for point in points if field_ in point]
        if few := found.count(None):
            said = f"{counted(few, 'median')} of {len(found)}"
            yield Note(f"too few {word}", f"{said} come from fewer than six {word}, which have no 95 % interval (?): measure them for "
                       "longer, or in more launches", RANKING_ONLY if few > MOST * len(found) else INFORMS, f"too few {word} for {said}")


def _wide(cells):
    wide = sum(cell.time.is_known and cell.time.half > WIDE for cell in cells)
    if wide:
        said = f"{counted(wide, 'median')} of {len(cells)} not known to {100 * WIDE:.0f} %"
        yield Note("unsteady", said, RANKING_ONLY if wide > MOST * len(cells) else INFORMS, said)


def _skipped(points):
    """Why some have no time."""
    skipped = Counter(point["skipped"] for point in points if point.get("skipped"))
    if skipped:
        most = [f"{reason} ({count})" for reason, count in skipped.most_common(MOST_REASONS)]
        more = f" and {len(skipped) - MOST_REASONS} more reasons" if len(skipped) > MOST_REASONS else ""
        yield Note("skipped", f"{counted(skipped.total(), 'point')} of {len(points)}: {'; '.join(most)}{more}")
