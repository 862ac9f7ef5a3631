# SPDX-License-Identifier: Apache-2.0
"""Sums values over processes. Start each as sum_in_python.py tcp://HOST:PORT RANK SIZE (rank 0 listens at the address), or all by
mpirun -n 2 python3 sum_in_python.py mpi."""
import sys

import numpy

import tutti

if len(sys.argv) == 4:
    ranks = tutti.Communicator.over_rendezvous(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
elif sys.argv[1:] == ["mpi"]:
    ranks = tutti.Communicator.over_mpi()  # or over_mpi(communicator of mpi4py)
else:
    sys.exit("sum_in_python.py: usage: sum_in_python.py tcp://HOST:PORT RANK SIZE, or mpi")

with ranks:
    gradients = numpy.full(1_000_000, ranks.rank, dtype=numpy.float32)
    request = ranks.start.all_reduce(gradients, op=tutti.Op.AVG)
    # ... what this process computes meanwhile ...
    request.wait()

    loss = numpy.array([ranks.rank + 1.0])
    sum_of_losses = ranks.prepare.all_reduce(loss)  # checked once, then faster than ranks.all_reduce(loss)
    for step in range(3):
        loss[0] = ranks.rank + step
        sum_of_losses()

    is_right = gradients[-1] == (ranks.size - 1) / 2 and loss[0] == ranks.size * (ranks.size - 1) / 2 + ranks.size * 2
    print(f"rank {ranks.rank} of {ranks.size}: {'right' if is_right else 'wrong'}")
sys.exit(0 if is_right else 2)
