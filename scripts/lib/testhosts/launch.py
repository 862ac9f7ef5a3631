# SPDX-License-Identifier: Apache-2.0
"""Makes the command that starts ranks on all hosts by scripts/lib/mpi.sh, for Open MPI and MPICH."""

import os
import shutil
import subprocess
from pathlib import Path

from . import agent
from .errors import cannot

MPI_RUN = Path(__file__).resolve().parents[1] / "mpi.sh"
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "HYDRA_", "SLURM_")


def environment():
    """Returns the environment without variables that a launcher of this process has set."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(LAUNCHERS) or name.startswith("OMPI_MCA_")}


def name():
    return os.environ.get("TUTTI_MPIRUN", "mpirun")


def is_there():
    return shutil.which(name()) is not None


def mpirun(hosts, ranks_per_host, placed_by, extra, command):
    """Makes the command. `placed_by`: slot fills one host after the other, node places ranks round robin."""
    launcher = name()
    if not is_there():
        raise cannot(f"no {launcher} to start ranks with; install it by scripts/setup, or use --on h0")
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False, env=environment())
    options = hydra if "HYDRA" in version.stdout else open_mpi_4 if "(Open MPI) 4." in version.stdout else open_mpi
    return [str(MPI_RUN), str(len(hosts) * ranks_per_host), *options(hosts, ranks_per_host, placed_by), *extra, *command]


def open_mpi_4(hosts, ranks_per_host, placed_by):
    settings = {"plm": "rsh", "plm_rsh_agent": agent.executable(), "plm_rsh_no_tree_spawn": "1",
                "orte_tmpdir_base": "/run/tmp"}
    return with_settings("--mca", settings, hosts, ranks_per_host, placed_by)


def open_mpi(hosts, ranks_per_host, placed_by):
    settings = {"plm": "ssh", "plm_ssh_agent": agent.executable(), "plm_ssh_no_tree_spawn": "1",
                "prte_tmpdir_base": "/run/tmp"}
    return with_settings("--prtemca", settings, hosts, ranks_per_host, placed_by)


def with_settings(option, settings, hosts, ranks_per_host, placed_by):
    """Open MPI's session folders are in the host's /run, which ends with the host."""
    if " " in agent.executable():
        raise cannot(f"Open MPI's mpirun starts nothing from {agent.executable()}, whose path has a blank; "
                     "move the checkout, or use --on h0")
    return ["--host", ",".join(f"{host.name}:{ranks_per_host}" for host in hosts), "--map-by", placed_by,
            *(word for name, value in settings.items() for word in (option, name, value))]


def hydra(hosts, ranks_per_host, placed_by):
    each = ranks_per_host if placed_by == "slot" else 1
    return ["-launcher", "ssh", "-launcher-exec", agent.executable(), "-bind-to", "none",
            "-hosts", ",".join(f"{host.name}:{each}" for host in hosts)]
