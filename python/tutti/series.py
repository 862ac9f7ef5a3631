# SPDX-License-Identifier: Apache-2.0
"""One metric over the launches of one machine with one set of settings, in the order of time."""

import difflib
import json
import statistics
from dataclasses import dataclass, field

from .columns import value_at
from .lines import ResultsError, run_of
from .names import key_id, metric_of, short_hash

VALUES = {"point": "t_ns.p50", "step": "step_ns.p50", "partial_step": "step_ns.p50", "pair": "b_ns"}
MOST = 2**63  # ns, the most that tutti writes
# Variables that are no settings: numbers and folders of one run.
OF_ONE_RUN = ("SLURM_JOB", "TUTTI_")
# Facts that may change within a series; a change point names their changes.
FACTS = {"build type": "tool.build_type", "compiler": "tool.compiler"}
FACTS_OF_LAUNCH = {"MPI": "mpi.version", "UCX": "ucx.version", "NCCL": "nccl.version", "CUDA": "cuda.driver",
                   "kernel": "hosts[0].kernel", "host": "hosts[0].name"}


@dataclass
class Run:
    """One value of a series: the median of what a launch says of the metric."""

    t: str
    commit: str
    facts: dict
    values: list = field(default_factory=list)

    @property
    def value(self):
        return statistics.median(self.values)


@dataclass
class Series:
    """The runs of one fingerprint, `settings` being all that must be equal besides the machine."""

    metric: str
    fingerprint: str
    words: str
    settings: dict
    runs: list

    def values(self):
        return [run.value for run in self.runs]


def the_metric(names, asked):
    """Returns the one metric that has this name, or all of its words or parts of words. Of calls that differ only in their placement, that is the
    one out of place."""
    words = asked.lower().split()
    found = ([name for name in names if name == asked]
             or sorted(name for name in names if set(words) <= set(name.lower().split()))
             or sorted(name for name in names if all(word in name.lower() for word in words)))
    if len({name.replace(" in place", "") for name in found}) == 1:
        return min(found, key=len)
    if not found:
        raise ResultsError(f"no metric is called '{asked}'; there are {len(names)}, the nearest: {'; '.join(_nearest(names, asked))}"
                           if names else f"no metric is called '{asked}', as no times were measured")
    raise ResultsError(f"'{asked}' fits {len(found)} metrics; use more words of one name: {'; '.join(found[:4])}"
                       + ("; ..." if len(found) > 4 else ""))


def _nearest(names, asked):
    """Returns the names with the most words in common, then with the most similar ones."""
    words = set(asked.lower().split())

    def likeness(name):
        return len(words.intersection(name.lower().split())), difflib.SequenceMatcher(None, asked.lower(), name.lower()).ratio()

    return sorted(sorted(names), key=likeness, reverse=True)[:3]


def series_of(records, asked):
    """A series for each fingerprint of the metric, the one with the newest launch first."""
    records = list(records)
    stored = {one.get("session") for one in records if one["kind"] == "verdict" and one.get("method") == "stored"}
    # Skips what a comparison only read from results files.
    measured = [one for one in records
                if _value(one) is not None and not (one["kind"] == "pair" and one.get("session") in stored)]
    metric = the_metric({metric_of(one) for one in measured}, asked)
    sessions = {one["id"]: one for one in records if one["kind"] == "session"}
    launches = {(run_of(one), one["launch"]): one for one in records if one["kind"] == "launch"}
    found = {}
    for one in measured:
        if metric_of(one) != metric:
            continue
        # A comparison has one launch record, and pairs that count its launches.
        place = run_of(one), one["launch"] if one["kind"] != "pair" else 1
        launch, session = launches.get(place, {}), sessions.get(one.get("session"), {})
        settings = _settings(one, launch)
        fingerprint = f"{machine_of(launch)}-{short_hash(json.dumps(settings))[:6]}"
        series = found.setdefault(fingerprint, (_words(one, launch), settings, {}))
        run = series[2].setdefault(place, Run(_begin(launch, session), _commit(one, session), _facts(session, launch)))
        run.values.append(_value(one))
    all_series = [Series(metric, fingerprint, words, settings, sorted(runs.values(), key=lambda run: run.t))
                  for fingerprint, (words, settings, runs) in found.items()]
    return sorted(all_series, key=lambda one: one.runs[-1].t, reverse=True)


def differences(one, other):
    """The settings in which two series differ, by name; "machine" where that is another."""
    names = [name for name in sorted({*one.settings, *other.settings}) if one.settings.get(name) != other.settings.get(name)]
    same_machine = one.fingerprint.split("-")[0] == other.fingerprint.split("-")[0]
    return ([] if same_machine else ["machine"]) + names


def machine_of(launch):
    """The beginning of its fingerprint; of older records a name of the same form."""
    return (launch.get("topo_sha256") or short_hash(_hosts(launch)))[:8]


def variables_of(launch):
    """The environment variables that steer libraries, but for those of this one run."""
    return {name: value for name, value in (launch.get("env") or {}).items() if not name.startswith(OF_ONE_RUN)}


def _value(record):
    """The time of a call or a step; None where it was skipped, is wrong, or the record is of another kind."""
    if value_at(record, "check.state") == "fail":
        return None
    value = value_at(record, VALUES.get(record["kind"], ""))
    if not isinstance(value, (int, float)) or value <= 0:
        return None
    if value > MOST:
        raise ValueError("a time is out of range")
    return value


def _begin(launch, session):
    t = launch.get("t") or session.get("t") or ""
    if not isinstance(t, str):
        raise TypeError("a launch's time is not a text")
    return t


def _settings(record, launch):
    """All that decides performance and is not the machine or the version of a program."""
    key = {f"key.{name}": value for name, value in (record.get("key") or {}).items()}
    start = {name: record.get(name) for name in ("mode", "def") if record.get(name)}
    return {"kind": record["kind"].removeprefix("partial_"), "id": key_id(record), "MPI library": value_at(launch, "mpi.vendor"),
            **start, **dict(sorted(key.items())), **dict(sorted(variables_of(launch).items()))}


def _words(record, launch):
    ranks = value_at(record, "key.nranks") or launch.get("nranks")
    gpus = sorted({gpu.get("model") for gpu in launch.get("gpus") or [] if gpu.get("model")})
    words = [value_at(launch, "hosts[0].cpu_model"), *gpus, f"{ranks} ranks" if ranks else "",
             f"{len(launch.get('hosts') or [])} hosts" if len(launch.get("hosts") or []) > 1 else "",
             f"started by {record['mode']}" if record.get("mode") else "", value_at(launch, "mpi.vendor"),
             "B of tutti compare" if record["kind"] == "pair" else ""]
    return ", ".join(filter(None, words))


def _hosts(launch):
    return " ".join(host.get("name", "") for host in launch.get("hosts") or [])


def _commit(record, session):
    """The commit; unknown for a comparison, as the session's is that of the tutti that compares."""
    if record["kind"] == "pair":
        return ""
    return (value_at(session, "tool.git") or "") + ("+changes" if value_at(session, "tool.dirty") else "")


def _facts(session, launch):
    return {**{name: value_at(session, path) for name, path in FACTS.items()},
            **{name: value_at(launch, path) for name, path in FACTS_OF_LAUNCH.items()}}
