# SPDX-License-Identifier: Apache-2.0
"""The columns of each kind of record, for tables, CSV files and the index: where each lies in the record's JSON.

Paths are those of SQLite's json_extract after the "$."."""

import re

KEY = {name: f"key.{name}" for name in (
    "coll", "impl", "algo", "transport", "dtype", "op", "root", "count", "bytes", "inplace", "buf", "nranks", "ppn",
    "seg", "radix", "channels", "placement", "input")} | {"rank_order": "key.order"}  # ORDER is a word of SQL
TIMES = {f"{name}_ns": f"t_ns.{name}" for name in ("min", "p05", "p25", "p50", "p75", "p95", "p99", "max", "mean", "sd")}

COLUMNS = {
    "sessions": {"version": "tool.version", "dirty": "tool.dirty", "build_type": "tool.build_type",
                 "compiler": "tool.compiler", "argv": "argv", "seed": "seed", "resume_of": "resume_of"},
    "launches": {"nranks": "nranks", "ppn": "ppn", "host": "hosts[0].name", "cpu_model": "hosts[0].cpu_model",
                 "kernel": "hosts[0].kernel", "mpi_vendor": "mpi.vendor", "mpi_version": "mpi.version",
                 "ucx_version": "ucx.version", "nccl_version": "nccl.version"},
    "points": {"point": "point", **KEY, "skipped": "skipped", "mode": "mode", "def": "def", "n": "n",
               "n_invalid": "n_invalid", "stop_reason": "stop_reason", **TIMES, "ci95_low_ns": "ci95_p50_ns[0]",
               "ci95_high_ns": "ci95_p50_ns[1]", "rho1": "rho1", "n_slow": "n_slow", "algbw_GBps": "algbw_GBps",
               "busbw_GBps": "busbw_GBps", "check_state": "check.state", "n_wrong": "check.n_wrong",
               "energy_J": "energy_J", "gpu_energy_J": "gpu_energy_J", "limit_ns": "limit_ns", "pct_of_limit": "pct_of_limit", "predicted_ns": "predicted_ns",
               "choice": "choice"},
    "steps": {**{name: f"key.{name}" for name in ("workload", "model", "compute", "buffers", "settings", "way", "nranks",
                                                  "ppn", "bytes", "calls")},
              "skipped": "skipped", "n": "n", "step_ns": "step_ns.p50", "ci95_low_ns": "ci95_step_ns[0]",
              "ci95_high_ns": "ci95_step_ns[1]", "compute_ns": "compute_ns.p50",
              "communication_ns": "communication_ns.p50", "exposed_ns": "exposed_ns.p50",
              "computing_ns": "computing_ns.p50", "wait_ns": "wait_ns.p50", "work_ns": "work_ns.p50",
              "overlap": "overlap", "slowdown": "slowdown", "bound_ns": "bound_ns", "check_state": "check.state"},
    "pairs": {"stage": "stage", "est": "est", "a_ns": "a_ns", "b_ns": "b_ns", "unit": "unit", "noise_a": "noise_a",
              "noise_b": "noise_b"},
    "verdicts": {name: name for name in ("verdict", "ratio", "low", "high", "confidence", "p", "noise", "mde", "a_ns",
                                         "b_ns", "unit", "n_launch", "stage", "rule")},
    "fails": {name: name for name in ("point", "phase", "what", "rank", "host", "code", "signal")},
    "ends": {"ok": "ok", "wall_ns": "wall_ns"},
    "limits": {"cores": "cores", "kernels": "kernels", "clock_ns": "clock_ns"},
}


def value_at(record, path):
    """The value at a path such as "ci95_p50_ns[0]"; None where there is none."""
    for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", path):
        record = record.get(name) if isinstance(record, dict) else None
        if index:
            record = record[int(index)] if isinstance(record, list) and len(record) > int(index) else None
    return record
