#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_run N COMMAND...: runs N ranks of a command on this machine, whichever launcher there is, also
# as root, in containers, and with more ranks than cores. Source this file, or run it:
#   scripts/lib/mpi.sh N COMMAND...
# TUTTI_MPIRUN names the launcher if it is not `mpirun`: mpirun.mpich, /opt/mpi/bin/mpirun.

mpi_run() {
    local ranks=$1
    shift
    local launcher=${TUTTI_MPIRUN:-mpirun}
    local options=(-n "$ranks")
    local version
    version=$("$launcher" --version 2>/dev/null || true)
    if [[ $version == *"Open MPI"* || $version == *OpenRTE* ]]; then
        # Containers often refuse binding, and ranks that share a core must not spin.
        options+=(--oversubscribe --bind-to none)
        ((ranks > $(nproc))) && options+=(--mca mpi_yield_when_idle 1)
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    elif [[ $version == *HYDRA* ]]; then
        options+=(-launcher fork -bind-to none)  # no ssh to this very machine
    fi
    # As a program of its own this one becomes the launcher, so that signals reach it.
    local become=()
    [[ ${BASH_SOURCE[0]} == "$0" ]] && become=(exec)
    "${become[@]}" "$launcher" "${options[@]}" "$@"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
    set -euo pipefail
    if (($# < 2)) || [[ ! $1 =~ ^[0-9]+$ ]]; then
        echo "usage: scripts/lib/mpi.sh N COMMAND..." >&2
        exit 64
    fi
    mpi_run "$@"
fi
