# SPDX-License-Identifier: Apache-2.0
"""Which fields report and check-guidelines use of each kind of record, and of which type; others may come and go.

A type, a dict of fields, or a list of one item's type. A name that ends in ? may be absent or null."""

NUMBER = (int, float)
MOST = 2**63
TOOL = {"version?": str, "git?": str, "dirty?": bool, "build_type?": str, "compiler?": str}
HOST = {"name": str, "cpu_model?": str, "cores?": int, "mem_bytes?": int, "governor?": str, "kernel?": str,
        "virt?": str, "loadavg1?": NUMBER, "cgroup_cpus?": NUMBER}
WIRE = {"tx_bytes_per_call": NUMBER, "rx_bytes_per_call": NUMBER}
HEALTH = {"host": str, "readings": [{"name": str, "value": NUMBER, "wrong?": str}]}
LIBRARY = {"vendor?": str, "version?": str}
KEY = {"coll": str, "impl": str, "algo": str, "transport": str, "dtype": str, "op": str, "root": int,
       "bytes": int, "inplace": bool, "nranks": int, "ppn?": int, "seg?": int, "buf?": str, "placement?": str,
       "order?": str, "radix?": int, "channels?": int, "input?": str}
TIMES = {"p05": NUMBER, "p50": NUMBER, "p95": NUMBER, "max": NUMBER}

MIDDLE = {"p50": NUMBER}
STEP_KEY = {"workload": str, "model": str, "compute?": str, "settings?": str, "buffers?": str,
            "way": str, "nranks": int, "ppn?": int, "placement?": str}

KINDS = {
    "session": {"id": str, "t": str, "tool": TOOL, "argv": [str], "seed": int, "cwd?": str, "plan?": dict,
                "resume_of?": str},
    "launch": {"session?": str, "launch": int, "t": str, "nranks": int, "hosts?": [HOST], "mpi?": LIBRARY,
               "ucx?": LIBRARY, "nccl?": LIBRARY, "cuda?": {"driver?": str}, "gpus?": [{"model?": str}], "env?": dict,
               "argv?": [str], "topo_sha256?": str, "health?": [HEALTH]},
    "point": {"session?": str, "launch": int, "key": KEY, "skipped?": str},
    "step": {"session?": str, "launch": int, "key": STEP_KEY, "skipped?": str},
    "lower_limits": {"session?": str, "launch": int, "limit_ns": dict},
    "pair": {"session?": str, "launch": int, "metric": str},
    "verdict": {"session?": str, "method?": str},
    "fail": {"session?": str, "launch": int, "phase": str, "what": str},
    "end": {"session?": str, "launch": int, "ok": bool, "wall_ns": int, "health?": [HEALTH]},
}
# Of points and steps that were not skipped.
MEASURED = {
    "point": {"n": int, "t_ns": TIMES, "ci95_p50_ns": [NUMBER], "busbw_GBps": NUMBER, "check": {"state": str},
              "stop_reason?": str, "calls_of_sample?": int, "limit_ns?": NUMBER, "pct_of_limit?": NUMBER,
              "predicted_ns?": NUMBER, "choice?": str, "n_invalid?": int, "mode?": str, "def?": str, "wire?": WIRE,
              "energy_J?": NUMBER, "gpu_energy_J?": NUMBER},
    "step": {"n": int, "step_ns": MIDDLE, "ci95_step_ns": [NUMBER], "compute_ns": MIDDLE, "communication_ns": MIDDLE,
             "exposed_ns": MIDDLE, "wait_ns": MIDDLE, "work_ns": MIDDLE, "overlap?": NUMBER, "slowdown?": NUMBER,
             "ci95_exposed_ns?": [NUMBER], "check": {"state": str}, "metrics?": [{"name": str, "value?": NUMBER}]},
}
INTERVALS = {"point": "ci95_p50_ns", "step": "ci95_step_ns"}
for of_kind in (KINDS, MEASURED, INTERVALS):
    of_kind["partial_step"] = of_kind["step"]


class _Fields(tuple):
    """(name, whether it may be absent, the type that needs no second look, what is wanted) of each: prepared once, as a
    report looks at 100,000 records."""


def _prepared(wanted):
    if isinstance(wanted, list):
        return [_prepared(wanted[0])]
    if not isinstance(wanted, dict):
        return wanted
    return _Fields((name.rstrip("?"), name.endswith("?"), int if one is NUMBER else one, _prepared(one)) for name, one in wanted.items())


_KINDS, _MEASURED = ({kind: _prepared(fields) for kind, fields in of_kind.items()} for of_kind in (KINDS, MEASURED))


def fault(record):
    """What is wrong with a record, in a few words, or None. Unknown kinds are never wrong."""
    kind = record.get("kind")
    if not isinstance(kind, str):
        return 'no field "kind"'
    found = _fault(record, _KINDS.get(kind, _Fields()), "")
    if found or kind not in MEASURED or record.get("skipped"):
        return found
    found = _fault(record, _MEASURED[kind], "")
    if not found and len(record[INTERVALS[kind]]) != 2:
        return f'field "{INTERVALS[kind]}" is no [lo,hi]'
    return found


def _fault(value, wanted, path):
    if isinstance(wanted, _Fields):
        return _fault_in_fields(value, wanted, path)
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return _wrong_type(path)
        return next(filter(None, (_fault(item, wanted[0], path) for item in value)), None)
    # To Python True is an int; to us it is not.
    fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if fits and isinstance(value, NUMBER) and not -MOST <= value <= MOST:  # 1e999, or an int of a thousand digits
        return f'field "{path}" is out of range'
    return None if fits else _wrong_type(path)


def _fault_in_fields(value, fields, path):
    if not isinstance(value, dict):
        return _wrong_type(path)
    for name, may_be_absent, quick, wanted in fields:
        inner = value.get(name)
        if type(inner) is quick and (quick is not int or -MOST <= inner <= MOST) or inner is None and may_be_absent:
            continue
        place = f"{path}.{name}".lstrip(".")
        if name not in value:
            return f'no field "{place}"'
        if found := _fault(inner, wanted, place):
            return found
    return None


def _wrong_type(path):
    return f'field "{path}" has the wrong type'
