# SPDX-License-Identifier: Apache-2.0
"""Where the numbers come from, as rows of (word, text)."""

import shlex

from .units import counted


def rows(results):
    tools = _distinct(_tool(session["tool"]) for session in results.sessions)
    hosts = [host for launch in results.launches for host in launch.get("hosts") or []]
    libraries = [_library(word, launch[word]) for launch in results.launches
                 for word in ("mpi", "ucx", "nccl") if launch.get(word)]
    facts = [
        ("host", _distinct(host["name"] for host in hosts)),
        ("CPU", _distinct(_cpu(host) for host in hosts)),
        ("kernel", _distinct(host.get("kernel") for host in hosts)),
        ("virtual machine", _distinct(host.get("virt") for host in hosts)),
        ("GPU", _distinct(gpu.get("model") for launch in results.launches for gpu in launch.get("gpus") or [])),
        ("libraries", _distinct(libraries)),
        ("tutti", tools),
        ("date", _dates(results)),
        ("command", _distinct(command(session) for session in results.sessions)),
        ("seed", _distinct(str(session["seed"]) for session in results.sessions)),
        ("launches", [_launches(results)]),
        ("environment", _distinct(f"{name}={value}" for launch in results.launches
                                  for name, value in sorted((launch.get("env") or {}).items()))),
        ("files", _distinct(results.files)),
    ]
    return [(word, texts) for word, texts in facts if texts]


def command(session):
    """The command as typed, without mpirun; one line."""
    return shlex.join(word.replace("\n", " ") for word in session["argv"])


def _distinct(texts):
    return list(dict.fromkeys(text for text in texts if text))


def _tool(tool):
    git = (tool.get("git") or "") + ("+changes" if tool.get("dirty") else "")
    parts = [tool.get("version"), git, tool.get("build_type"), tool.get("compiler")]
    return ", ".join(part for part in parts if part)


def _cpu(host):
    parts = [host.get("cpu_model")]
    parts += [f"{host['cores']} cores"] if host.get("cores") else []
    parts += [f"{host['mem_bytes'] / 2**30:.0f} GiB"] if host.get("mem_bytes") else []
    parts += [f"governor {host['governor']}"] if host.get("governor") else []
    return ", ".join(part for part in parts if part)


def _library(word, library):
    return f"{library.get('vendor') or word.upper()} {library.get('version', '')}".strip()


def _dates(results):
    times = sorted(record["t"] for record in results.sessions + results.launches if record["t"])
    return _distinct([times[0][:19].replace("T", " ") + " UTC"]) if times else []


def _launches(results):
    notes = []
    for records, word in ((results.points, "point"), (results.steps, "training step")):
        measured = sum(1 for record in records if not record.get("skipped"))
        if records:
            notes.append(f"{counted(measured, word)} measured, {len(records) - measured} skipped")
    return f"{results.launch_count()} ({'; '.join(notes)})"
