# SPDX-License-Identifier: Apache-2.0
"""A Python program that makes collectives; preload_test.py runs it with libtutti_mpi.so."""
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
wrong = 0
for turn in range(50):
    data = numpy.full(1000, rank + turn, dtype="d")
    comm.Allreduce(MPI.IN_PLACE, data, MPI.SUM)
    wrong += int((data != ranks * turn + ranks * (ranks - 1) // 2).any())
    wrong += int(comm.bcast({"turn": turn} if rank == turn % ranks else None, root=turn % ranks) != {"turn": turn})
    wrong += int(comm.allgather(rank * turn) != [r * turn for r in range(ranks)])
    wrong += int(comm.allreduce([rank], op=MPI.SUM) != list(range(ranks)))  # pickled Python objects
all_wrong = comm.reduce(wrong, root=0)
if rank == 0:
    print(f"{all_wrong} wrong")
