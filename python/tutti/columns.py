# SPDX-License-Identifier: Apache-2.0
"""The columns of each kind of record, the same in the views of the database, CSV files, Parquet files and data frames, and where
each lies in the record's JSON.

A column has the name of its JSON field. Fields of "key" and "t_ns" stand alone ("t_ns.p50" is p50_ns), other objects lend their
name where it is needed ("check.state" is check_state), and an interval [low, high] makes two columns ("ci95_p50_ns" is
ci95_p50_low_ns and ci95_p50_high_ns). Paths are those of SQLite's json_extract after the "$."; "a / b" is rounded up."""

import functools
import re

from .knobs import KNOBS

LEAST_CALLS = 6  # fewer have no 95 % interval of their median; older files have one of the smallest and the largest
HOSTS = {"hosts": "key.nranks / key.ppn"}
# The fields of a point's key, without its knobs.
FIELDS = ("coll", "impl", "algo", "transport", "dtype", "op", "root", "count", "bytes", "inplace", "buf", "nranks", "ppn",
          "placement", "input", "blocks", "aggressor", "order")
KEY = {name: f"key.{name}" for name in (*FIELDS[:-5], *(knob["key"] for knob in KNOBS), *FIELDS[-5:-1])} | {
    "rank_order": "key.order"} | HOSTS  # ORDER is a word of SQL
TIMES = {f"{name}_ns": f"t_ns.{name}" for name in ("min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd")}


def interval(of):
    """The two columns of an interval."""
    return {f"ci95_{of}_low_ns": f"ci95_{of}_ns[0]", f"ci95_{of}_high_ns": f"ci95_{of}_ns[1]"}


COLUMNS = {
    "sessions": {"version": "tool.version", "dirty": "tool.dirty", "build_type": "tool.build_type",
                 "compiler": "tool.compiler", "argv": "argv", "seed": "seed", "resume_of": "resume_of"},
    "launches": {"nranks": "nranks", "ppn": "ppn", "hosts": "nranks / ppn", "host": "hosts[0].name", "cpu_model": "hosts[0].cpu_model",
                 "kernel": "hosts[0].kernel", "mpi_vendor": "mpi.vendor", "mpi_version": "mpi.version",
                 "ucx_version": "ucx.version", "nccl_version": "nccl.version"},
    "points": {"point": "point", **KEY, "skipped": "skipped", "mode": "mode", "def": "def", "n": "n",
               "n_invalid": "n_invalid", "n_warm": "n_warm", "calls_of_sample": "calls_of_sample", "stop_reason": "stop_reason", **TIMES,
               **interval("p50"), "rho1": "rho1", "n_slow": "n_slow", "skew_p50_ns": "skew_p50_ns", "device_p50_ns": "device_p50_ns",
               "clock_residual_ns": "clock_residual_ns", "algbw_GBps": "algbw_GBps", "busbw_GBps": "busbw_GBps",
               "wire_tx_bytes_per_call": "wire.tx_bytes_per_call", "wire_rx_bytes_per_call": "wire.rx_bytes_per_call",
               "energy_J": "energy_J", "gpu_energy_J": "gpu_energy_J", "check_state": "check.state", "n_wrong": "check.n_wrong",
               "limit_ns": "limit_ns", "pct_of_limit": "pct_of_limit", "predicted_ns": "predicted_ns", "choice": "choice"},
    "steps": {**{name: f"key.{name}" for name in ("workload", "model", "compute", "buffers", "settings", "placement", "way", "nranks",
                                                  "ppn")}, **HOSTS, "bytes": "key.bytes", "calls": "key.calls",
              "skipped": "skipped", "n": "n", "step_ns": "step_ns.p50", **interval("step"), "compute_ns": "compute_ns.p50",
              "communication_ns": "communication_ns.p50", "exposed_ns": "exposed_ns.p50", **interval("exposed"),
              "computing_ns": "computing_ns.p50", "wait_ns": "wait_ns.p50", "work_ns": "work_ns.p50", "overlap": "overlap",
              "slowdown": "slowdown", "bound_ns": "bound_ns", "check_state": "check.state", "n_wrong": "check.n_wrong"},
    "pairs": {"stage": "stage", "est": "est", "a_ns": "a_ns", "b_ns": "b_ns", "unit": "unit", "noise_a": "noise_a",
              "noise_b": "noise_b"},
    "verdicts": {name: name for name in ("verdict", "ratio", "low", "high", "confidence", "p", "noise", "mde", "a_ns",
                                         "b_ns", "unit", "higher_is_better", "n_launch", "stage", "rule", "to_decide", "nranks", "method")},
    "fails": {name: name for name in ("point", "phase", "what", "rank", "host", "code", "signal")},
    "ends": {"ok": "ok", "wall_ns": "wall_ns"},
    "limits": {"cores": "cores", "kernels": "kernels", "clock_ns": "clock_ns"},
}
# Values of fields that records leave out if they have these. Skipped points have only those of their key.
DEFAULTS = {**{f"key.{knob['key']}": knob["default"] for knob in KNOBS}, "calls_of_sample": 1,
            "p": 1.0, "unit": "ns", "higher_is_better": False, "stage": 1, "method": "turns"}
# Names that columns of the database had before; stored queries may use them.
OLD_COLUMNS = {"points": {"ci95_low_ns": "ci95_p50_ns[0]", "ci95_high_ns": "ci95_p50_ns[1]"},
               "steps": {"ci95_low_ns": "ci95_step_ns[0]", "ci95_high_ns": "ci95_step_ns[1]"}}


def value_at(record, path):
    """The value at a path such as "ci95_p50_ns[0]"; None where there is none."""
    if " / " in path:
        above, below = (value_at(record, part) for part in path.split(" / "))
        return -(-above // below) if above and below else None
    if path.startswith("ci95_") and (record.get("n") or 0) < LEAST_CALLS:
        return None
    value = record
    for name, index in _steps(path):
        value = value.get(name) if isinstance(value, dict) else None
        if index:
            value = value[int(index)] if isinstance(value, list) and len(value) > int(index) else None
    if value is None and (path.startswith("key.") or record.get("skipped") is None):
        return DEFAULTS.get(path)
    return value


@functools.cache
def _steps(path):
    return re.findall(r"(\w+)(?:\[(\d+)\])?", path)


def sql_of(path):
    """The same of records.json as an expression of SQL."""
    if " / " in path:
        above, below = map(sql_of, path.split(" / "))
        return f"({above} + {below} - 1) / {below}"
    value = f"json_extract(records.json, '$.{path}')"
    if (default := DEFAULTS.get(path)) is not None:
        is_left_out = "TRUE" if path.startswith("key.") else f"{sql_of('skipped')} IS NULL"
        return f"CASE WHEN {value} IS NULL AND {is_left_out} THEN {default!r} ELSE {value} END"
    return f"CASE WHEN {sql_of('n')} >= {LEAST_CALLS} THEN {value} END" if path.startswith("ci95_") else value
