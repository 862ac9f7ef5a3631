# SPDX-License-Identifier: Apache-2.0
"""The words that start ranks on all hosts, for Open MPI's mpirun and for MPICH's."""

import os
import shutil
import subprocess

from . import agent
from .errors import cannot

LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "SLURM_")


def environment():
    """Ours, without what a launcher that started us has set for its own ranks."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return clean | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(hosts, ranks_per_host, placed_by, extra, command):
    """`placed_by` slot fills one host after the other, node deals ranks out to the hosts in turn."""
    launcher = os.environ.get("TUTTI_MPIRUN", "mpirun")
    if shutil.which(launcher) is None:
        raise cannot(f"no {launcher} to start ranks with; install it by scripts/setup, or use --on h0")
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False, env=environment()).stdout
    ranks = len(hosts) * ranks_per_host
    options = hydra if "HYDRA" in version else open_mpi
    return [launcher, "-n", str(ranks), *options(hosts, ranks_per_host, placed_by), *extra, *command]


def open_mpi(hosts, ranks_per_host, placed_by):
    places = ",".join(f"{host.name}:{ranks_per_host}" for host in hosts)
    # Its session folders go where they die with the host; the cores of this machine are every host's.
    settings = {"plm": "rsh", "plm_rsh_agent": agent.executable(), "plm_rsh_no_tree_spawn": "1", "orte_tmpdir_base": "/run/tmp"}
    if len(hosts) * ranks_per_host > os.cpu_count():
        settings["mpi_yield_when_idle"] = "1"
    return ["--host", places, "--map-by", placed_by, "--bind-to", "none",
            *(word for name, value in settings.items() for word in ("--mca", name, value))]


def hydra(hosts, ranks_per_host, placed_by):
    each = ranks_per_host if placed_by == "slot" else 1
    return ["-launcher", "ssh", "-launcher-exec", agent.executable(), "-bind-to", "none",
            "-hosts", ",".join(f"{host.name}:{each}" for host in hosts)]
