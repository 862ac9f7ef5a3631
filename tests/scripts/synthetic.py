# SPDX-License-Identifier: Apache-2.0
"""Results files as tutti writes them, from a simple model of time instead of a machine."""

import json
import random

SIZES = [8 << (2 * i) for i in range(10)]  # 8 B .. 2 MiB
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather",
               "all_to_all")
ALGORITHMS = ("ring", "tree", "double-tree", "butterfly", "halving-doubling", "round-robin", "linear",
              "bruck", "chain", "circulant", "one-shot", "two-level")
STEPS_AND_VOLUME = {"ring": (6, 1.5), "tree": (4, 4), "double-tree": (5, 2.2), "butterfly": (2, 2),
                    "halving-doubling": (4, 1.55), "round-robin": (6, 1.52), "linear": (6, 6), "bruck": (2.3, 2.4),
                    "chain": (6, 3), "circulant": (4, 1.6), "one-shot": (1, 3), "two-level": (3, 2.4)}
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
ROOTED = ("broadcast", "reduce", "scatter", "gather")
FACTOR = {"all_reduce": 2 * 3 / 4, "broadcast": 1, "reduce": 1}


def write(path, collectives=COLLECTIVES, algorithms=ALGORITHMS, transports=("shm", "mpi"), sizes=tuple(SIZES),
          launches=1, baseline=True, inplace=(False,), seed=1):
    rng = random.Random(seed)
    lines = [session()]
    for launch in range(1, launches + 1):
        lines.append(launch_record(launch))
        for coll in collectives:
            for place in inplace:
                for size in sizes:
                    for algo in algorithms:
                        lines += [point(rng, launch, coll, "tutti", algo, transport, size, place)
                                  for transport in transports]
                    if baseline:
                        lines.append(point(rng, launch, coll, "mpi", "mpi", "", size, place))
        lines.append({"v": 1, "kind": "end", "session": "s", "launch": launch, "ok": True, "wall_ns": 10**9})
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def whole(record, name=""):
    """With the fields that tutti always writes; the session "s" is one of its file."""
    def filled(given, defaults):
        return defaults | given
    if record["kind"] == "session":
        return record | {"id": record["id"] + name}
    record = filled(record, {"session": "s"})
    record["session"] += name
    if record["kind"] in ("point", "step", "partial_step") and not record.get("skipped"):
        record = filled(record, {"mode": "deadline", "def": "max_local", "n_invalid": 0, "n_warm": 0, "stop_reason": "max_n", "rho1": 0.0,
                                 "n_slow": 0, "algbw_GBps": 1.0} if record["kind"] == "point" else
                        {"computing_ns": record["compute_ns"], "ci95_exposed_ns": [0, 0], "bound_ns": 0.0})
        record["check"] = filled(record["check"], {"n_wrong": 0})
        for ends in ("ci95_p50_ns", "ci95_step_ns"):
            if ends in record:
                record[ends] = [round(end) for end in record[ends]]
        for part, times in record.items():
            if part.endswith("_ns") and isinstance(times, dict) and "p50" in times:
                times = {name: round(value) if isinstance(value, float) and abs(value) < 1e300 else value for name, value in times.items()}
                middle = times["p50"]
                record[part] = filled(times, dict.fromkeys(("min", "p05", "p25", "p75", "p95", "p99", "max", "mean", "sd"), middle))
    if record["kind"] in ("step", "partial_step"):
        record["key"] = filled(record["key"], {"ppn": record["key"]["nranks"], "bytes": 0, "calls": 0})
    return record


def session():
    return {"v": 1, "kind": "session", "id": "s", "t": "2026-01-31T12:00:00.000Z",
            "tool": {"version": "0.1.0", "git": "f723474", "build_type": "Release", "compiler": "g++ 12.2"},
            "argv": ["tutti", "bench", "all", "-b", "8", "-e", "2M", "--algo", "all"], "seed": 42}


def launch_record(launch):
    return {"v": 1, "kind": "launch", "session": "s", "launch": launch, "t": "2026-01-31T12:00:00.000Z",
            "argv": ["mpirun", "-np", "4"], "nranks": 4, "ppn": 4,
            "hosts": [{"name": "node0", "kernel": "6.1.0-18-amd64", "cpu_model": "AMD EPYC 7B13", "cores": 4,
                       "mem_bytes": 16 << 30, "virt": "kvm"}],
            "mpi": {"vendor": "Open MPI", "version": "4.1.4"}, "env": {"OMPI_MCA_btl": "self,vader"}}


def key(coll, impl, algo, transport, size, inplace=False):
    return {"coll": coll, "impl": impl, "algo": algo, "transport": transport, "dtype": "float",
            "op": "sum" if coll in REDUCING else "none", "root": 0 if coll in ROOTED else -1,
            "count": size // 4, "bytes": size, "inplace": inplace, "buf": "host", "nranks": 4, "ppn": 4}


def point(rng, launch, coll, impl, algo, transport, size, inplace=False):
    record = {"v": 1, "kind": "point", "session": "s", "launch": launch, "point": "0" * 16,
              "key": key(coll, impl, algo, transport, size, inplace)}
    if algo == "butterfly" and coll == "gather":
        return record | {"skipped": "butterfly has no gather; try tree"}
    if algo == "linear" and size > 1 << 18:
        return record | {"skipped": "would take longer than --max-time"}
    p50 = max(1, round(model_ns(coll, impl, algo, transport, size) * rng.lognormvariate(0, 0.03)))
    half, tail = rng.uniform(0.003, 0.04), rng.lognormvariate(-1.6, 0.6)
    times = {"min": p50 * 0.9, "p05": p50 * 0.95, "p25": p50 * 0.98, "p50": p50, "p75": p50 * 1.03,
             "p95": p50 * (1 + tail), "p99": p50 * (1 + 2 * tail), "max": p50 * (1 + 6 * tail), "mean": p50 * 1.02}
    algbw = size / p50
    return record | {
        "mode": "deadline", "def": "last_arrival", "n": rng.randrange(40, 400), "n_invalid": 0, "n_warm": 3,
        "stop_reason": rng.choice(["target_ci", "max_time"]),
        "t_ns": {name: round(value) for name, value in times.items()} | {"sd": p50 * tail},
        "ci95_p50_ns": [round(p50 * (1 - half)), round(p50 * (1 + half))], "rho1": 0.2, "n_slow": 1,
        "algbw_GBps": algbw, "busbw_GBps": algbw * FACTOR.get(coll, 3 / 4), "check": {"state": "ok", "n_wrong": 0}}


def model_ns(coll, impl, algo, transport, size):
    """Steps times latency plus bytes over bandwidth: enough for crossovers where real ones are."""
    latency = {"shm": 160, "mpi": 700}.get(transport, 500)
    gbps = {"shm": 9.0, "mpi": 4.5}.get(transport, 5.0)
    steps, volume = STEPS_AND_VOLUME.get(algo, (3, 1.9))
    weight = 1 + 0.15 * COLLECTIVES.index(coll)
    return weight * (steps * latency + volume * size / gbps)
