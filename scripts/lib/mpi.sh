#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs N ranks of a command, whichever launcher there is, also as root, in containers, and with more
# ranks than cores; words for the launcher may stand before the command:
#   scripts/lib/mpi.sh N [WORDS FOR THE LAUNCHER] COMMAND...
# TUTTI_MPIRUN names the launcher if it is not `mpirun`: mpirun.mpich, /opt/mpi/bin/mpirun.
# The exit code is the launcher's, but 5 (a rank was lost) where that has lost a host or was killed, and
# 128 + signal where this script was sent one.
set -euo pipefail
if (($# < 2)) || [[ ! $1 =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/lib/mpi.sh N COMMAND..." >&2
    exit 64
fi
ranks=$1
shift
launcher=${TUTTI_MPIRUN:-mpirun}
# With fewer, Open MPI's mpirun waits for ever instead of ending.
files=$((64 + 8 * ranks))
if [[ $(ulimit -n) != unlimited ]] && (($(ulimit -n) < files)); then
    echo "tutti: only $(ulimit -n) files may be open at a time; type ulimit -n $files, or more" >&2
    exit 64
fi
options=(-n "$ranks")
version=$("$launcher" --version 2>/dev/null || true)
held=
lost=137  # what the launcher ends with when it or a rank was killed, or else when it has lost a host
if [[ $version == *"Open MPI"* || $version == *OpenRTE* ]]; then
    # Containers often refuse binding, and ranks that share a core must not spin.
    options+=(--oversubscribe --bind-to none)
    ((ranks > $(nproc))) && options+=(--mca mpi_yield_when_idle 1)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # There mpirun has a folder of all jobs of a user, which the last of them removes: of jobs that start and end at the
    # same time one would now and then lose its own below it.
    TMPDIR=$(mktemp --directory --tmpdir tutti-mpirun-XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
    # If this script is killed, there is no EXIT: then a process that is no child of it, nor in its group, removes the
    # folder when the launcher, too, is gone.
    # shellcheck disable=SC2016  # it is that process that expands it
    exec {held}> >(exec setsid --fork bash -c 'cat; rm -rf "$TMPDIR"' >/dev/null 2>&1)
    # A host that does not answer is lost after 4 s; else Open MPI takes that for so after 480 s.
    export OMPI_MCA_oob_tcp_keepalive_time=${OMPI_MCA_oob_tcp_keepalive_time:-2}
    export OMPI_MCA_oob_tcp_keepalive_intvl=${OMPI_MCA_oob_tcp_keepalive_intvl:-1}
    export OMPI_MCA_oob_tcp_keepalive_probes=${OMPI_MCA_oob_tcp_keepalive_probes:-2}
    lost="137 205"
elif [[ $version == *HYDRA* ]]; then
    [[ " $* " == *" -launcher "* ]] || options+=(-launcher fork -bind-to none)  # no ssh to this machine
    lost="137 255"
fi

# It would take the same signal twice, once from a terminal or timeout(1) that means the whole group
# and once from here, for an order to drop everything. So it has a group of its own, and cannot read
# from a terminal. If this script is killed, it gets the signal too.
[[ -t 0 ]] && exec </dev/null
# mpirun does not mind when what it prints cannot be written, so where that is a file another program writes it.
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
    # shellcheck disable=SC2064  # it is this child's number that is meant
    trap "interrupted_by=$order; echo 'tutti: SIG$order was sent to the job, which ends' >&2; kill -$order $child 2>/dev/null || true" "$order"
done
while kill -0 "$child" 2>/dev/null; do
    wait "$child" || true  # a signal interrupts it
done
code=0
wait "$child" || code=$?
if [[ -n $writer ]]; then
    exec >&3
    # It ends with the last process that prints; should one have outlived the launcher, it is not waited for.
    for ((tenths = 0; tenths < 100; ++tenths)); do
        kill -0 "$writer" 2>/dev/null || break
        sleep 0.1
    done
    ((tenths < 100)) || kill "$writer" 2>/dev/null || true
    wait "$writer" || {
        echo "tutti: cannot write to stdout: is the disk full?" >&2
        # Some launchers crash when nobody reads what they print.
        [[ " 2 4 5 " == *" $code "* ]] || code=64
    }
fi
if [[ " $lost " == *" $code "* ]]; then
    echo "tutti: the launcher was killed, or lost a rank or a host, which it names above; the job ended" >&2
    code=5
fi
# The launcher has its own codes for a run that was interrupted, 1 and 0 among them.
[[ -z $interrupted_by ]] || code=$((128 + $(kill -l "$interrupted_by")))
exit "$code"
