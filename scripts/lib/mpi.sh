#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs N ranks of a command with Open MPI or MPICH, also as root, in containers, and with more ranks than
# cores. Options for the launcher may precede the command:
#   scripts/lib/mpi.sh N [LAUNCHER OPTIONS] COMMAND...
# The variable TUTTI_MPIRUN selects another launcher than `mpirun`, e.g. mpirun.mpich or /opt/mpi/bin/mpirun.
# The exit code is the launcher's, except 5 (a rank was lost) if it lost a host or was killed, and
# 128 + signal if this script received a signal.
set -euo pipefail
if (($# < 2)) || [[ ! $1 =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/lib/mpi.sh N COMMAND..." >&2
    exit 64
fi
ranks=$1
shift
launcher=${TUTTI_MPIRUN:-mpirun}
command -v "$launcher" >/dev/null || {
    echo "tutti: cannot find the launcher '$launcher'; install MPI (scripts/setup), set TUTTI_MPIRUN, or use --ranks $ranks for threads" >&2
    exit 64
}
# With fewer descriptors Open MPI's mpirun hangs instead of failing.
files=$((64 + 8 * ranks))
if [[ $(ulimit -n) != unlimited ]] && (($(ulimit -n) < files)); then
    echo "tutti: only $(ulimit -n) open files are allowed; use ulimit -n $files or more" >&2
    exit 64
fi
options=(-n "$ranks")
version=$("$launcher" --version 2>/dev/null || true)
held=
lost=137  # the launcher's exit code if it or a rank was killed; else that for a lost host
if [[ $version == *"Open MPI"* || $version == *OpenRTE* ]]; then
    # Containers often refuse binding, and ranks that share a core must not spin.
    options+=(--oversubscribe --bind-to none)
    ((ranks > $(nproc))) && options+=(--mca mpi_yield_when_idle 1)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # Open MPI has one folder for all jobs of a user, which the last job removes. So jobs that start and end at the same time
    # could lose their folders in it.
    TMPDIR=$(mktemp --directory --tmpdir tutti-mpirun-XXXXXX 2>/dev/null) || {
        echo "tutti: cannot create a temporary folder; set TMPDIR to an existing folder that you can write to" >&2
        exit 64
    }
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
    # If this script is killed, EXIT does not run: then a process outside of its group removes the folder after the launcher
    # has ended.
    # shellcheck disable=SC2016  # that process expands it
    exec {held}> >(exec setsid --fork bash -c 'cat; rm -rf "$TMPDIR"' >/dev/null 2>&1)
    # A host that does not answer is lost after 4 s instead of Open MPI's 480 s.
    export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-2}
    export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-1}
    export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-2}
    lost="137 205"
elif [[ $version == *HYDRA* ]]; then
    [[ " $* " == *" -launcher "* ]] || options+=(-launcher fork -bind-to none)  # no ssh to this machine
    lost="137 255"
fi

# The launcher has its own process group: otherwise it would get a signal twice, from the terminal or
# timeout(1) and from this script, and end without cleaning up. So it cannot read from a terminal. If this
# script is killed, the launcher gets SIGTERM.
[[ -t 0 ]] && exec </dev/null
# mpirun ignores write errors of its output, so another program writes it if it is a file.
writer=
if [[ ! -t 1 && ! -p /dev/stdout ]]; then
    exec 3>&1 > >(trap '' INT TERM HUP; [[ -z $held ]] || exec {held}>&-; exec cat >&3)
    writer=$!
fi
set -m
setpriv --pdeathsig TERM "$launcher" "${options[@]}" "$@" <&0 &
child=$!
interrupted_by=
for order in INT TERM HUP; do
    # shellcheck disable=SC2064  # the number of this child is meant
    trap "interrupted_by=$order; echo 'tutti: the job received SIG$order and ends' >&2; kill -$order $child 2>/dev/null || true" "$order"
done
while kill -0 "$child" 2>/dev/null; do
    wait "$child" || true  # a signal interrupts it
done
code=0
wait "$child" || code=$?
if [[ -n $writer ]]; then
    exec >&3
    # The writer ends with the last process that prints; do not wait if one outlives the launcher.
    for ((tenths = 0; tenths < 100; ++tenths)); do
        kill -0 "$writer" 2>/dev/null || break
        sleep 0.1
    done
    ((tenths < 100)) || kill "$writer" 2>/dev/null || true
    wait "$writer" || {
        echo "tutti: cannot write to stdout: is the disk full?" >&2
        # Some launchers crash if their output is not read.
        [[ " 2 4 5 " == *" $code "* ]] || code=64
    }
fi
if [[ " $lost " == *" $code "* ]]; then
    echo "tutti: the launcher was killed, or lost a rank or a host (see above); the job ended" >&2
    code=5
fi
# Launchers have different exit codes for interrupted runs, including 0 and 1.
[[ -z $interrupted_by ]] || code=$((128 + $(kill -l "$interrupted_by")))
exit "$code"
