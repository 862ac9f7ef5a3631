# SPDX-License-Identifier: Apache-2.0
"""Results and descriptions from which every kind of figure is drawn."""

import json
import random
from dataclasses import replace

from report_files import launch_of, step, with_key
import synthetic  # found through report_files
from plots import figures, records, style

COLLECTIVES = ("all_reduce", "broadcast")
MACHINES = (("node0", "AMD EPYC 7B13", 4), ("fast1", "Intel Xeon Platinum 8481C", 8))
# One column and two of a page: inches.
COLUMNS = (3.5, 7.16)


def report(folder):
    """All figures of a sweep of two collectives on 2 and 4 ranks of two machines, of training steps and of compared programs."""
    files = [_sweep(folder, *machine, nranks) for machine in MACHINES for nranks in (2, 4)]
    return figures.report_of(records.read([*files, _write(folder / "steps.jsonl", _steps()), _write(folder / "compared.jsonl", compared())]))


def canvases(made):
    """{name: canvas} of the style for papers, at one and at two columns."""
    return {f"{width:g} inches": style.Canvas(made.palette(), replace(style.PAPER, width=width, wide=width)) for width in COLUMNS}


def first_of_each_kind(made):
    """{kind: drawing}, of the section with the most signs where there is a choice."""
    found = {}
    for drawing in made.drawings():
        kind = drawing.kind.split("-")[0] if drawing.kind.startswith("scaling") else drawing.kind
        if kind not in found or "node0" in str(drawing.points[:1]) and drawing.slug.startswith("all-reduce-4"):
            found[kind] = drawing
    return found


def _write(path, lines):
    path.write_text("".join(json.dumps(synthetic.whole(line, path.stem)) + "\n" for line in lines), encoding="utf-8")
    return path


def _sweep(folder, host, cpu, cores, nranks):
    """The first machine has one launch, with every sign in its points; the second has two, so that intervals are wide."""
    plain = synthetic.write(folder / "plain.jsonl", collectives=COLLECTIVES, launches=1 + (host != MACHINES[0][0]), seed=nranks,
                            algorithms=("ring", "tree", "butterfly", "halving-doubling", "one-shot", "linear", "bruck", "circulant"))
    lines, rng = [json.loads(line) for line in plain.read_text(encoding="utf-8").splitlines()], random.Random(nranks)
    plain.unlink()
    for line in lines:
        if line["kind"] == "launch":
            line |= {"nranks": nranks, "ppn": nranks, "topo_sha256": host}
            line["hosts"] = [line["hosts"][0] | {"name": host, "cpu_model": cpu, "cores": cores, "loadavg1": 0.1, "topo_sha256": host}]
        if line["kind"] == "point":
            line["key"] |= {"nranks": nranks, "ppn": nranks}
            if not line.get("skipped") and host == MACHINES[0][0]:
                _decorate(line, rng)
    return _write(folder / f"{host}-{nranks}.jsonl", lines)


def _decorate(point, rng):
    size, p50 = point["key"]["bytes"], point["t_ns"]["p50"]
    point |= {"limit_ns": p50 * (1.3 if point["key"]["algo"] == "one-shot" and size == 512 else rng.uniform(0.3, 0.9)),
              "predicted_ns": p50 * rng.uniform(0.5, 2), "energy_J": 1e-6 * p50, "gpu_energy_J": 3e-6 * p50,
              "wire": {"host": 0, "tx_bytes_per_call": 1.5 * size, "rx_bytes_per_call": 1.5 * size}}
    if point["key"]["impl"] == "tutti":
        between = min(0.02 * size.bit_length(), 0.4)
        point["levels"] = [level | {"bytes": size, "messages": 2, "ns": round(share * p50)} for level, share in
                           (({"within": "cache"}, 0.6 - between), ({"within": "numa"}, 0.1), ({"within": "host"}, 0.3), ({}, between))]
    if size == 8 or size == 2048 and rng.random() < 0.3:
        point |= {"n": 3}
    if size == 32768 or size > 8 and rng.random() < 0.15:
        point["mode"] = "barrier"
    if rng.random() < 0.05:
        point["t_ns"] |= {"p95": 40 * p50, "p99": 40 * p50, "max": 40 * p50}


def _steps():
    methods = [step("ring/shm", 1.0, half=0.5), step("butterfly/shm", 1.1, half=0.5), step("halving-doubling/shm+buckets of 25M", 2.5, half=0.2),
               step("mpi", 4.0, 21.0, 6.0, 0.25), step("mpi-nonblocking", 0.0, half=0.3, n=3)]
    return [synthetic.session(), launch_of(nranks=2), *methods, *(with_key(one, nranks=4) for one in methods)]


def compared():
    def verdict(metric, word, ratio, low, high, a, unit):
        return {"v": 1, "kind": "verdict", "session": "s", "metric": metric, "verdict": word, "ratio": ratio, "low": low, "high": high, "confidence": 0.98,
                "p": 0.01, "noise": 0.004, "mde": 0.02, "a_ns": a, "b_ns": a * ratio, "unit": unit, "n_launch": 8, "nranks": 2}
    return [synthetic.session() | {"argv": ["tutti", "compare", "--program-a", "./step old", "--program-b", "./step new", "--metric", "took ([0-9.]+) ms"]},
            launch_of(nranks=2), verdict("time of a step", "slower", 1.14, 1.12, 1.17, 24.1e6, "ns"),
            verdict("time of the whole program with its set-up", "undecided", 1.02, 0.97, 1.08, 3.1e9, "ns"),
            verdict("load", "same", 1.001, 0.999, 1.003, 1.2e6, "ns"), verdict("bandwidth", "faster", 1.07, 1.05, 1.09, 18.3, "GB/s")]


def history():
    """Returns what `tutti history --json` prints, with two changes close to each other and one near the end."""
    times = [1e6] * 8 + [1.3e6] * 3 + [1.05e6] * 12 + [1.4e6] * 3
    launches = [{"t": f"2026-01-{i + 1:02}T12:00:00.000Z", "commit": f"c0ffee{i:03}", "ns": time * (1 + 0.01 * (i % 3)), "facts": {}} for i, time in enumerate(times)]
    begins = (0, 8, 11, 23)
    return {"metric": "all_reduce 1M float sum registered ring (shm), 2 ranks", "unit": "ns", "fingerprint": "abcdef01", "others": [],
            "words": "AMD EPYC 7B13, 4 cores, kernel 6.1.0-18-amd64, Open MPI 4.1.4, 2 ranks on one host, starts by deadline, OMPI_MCA_btl=self,vader",
            "launches": launches, "levels": [{"first": begin, "ns": times[begin]} for begin in begins],
            "changes": [{"first": begin, "p": 0.002, "before_ns": times[begin - 1], "after_ns": times[begin], "facts": []} for begin in begins[1:]]}
