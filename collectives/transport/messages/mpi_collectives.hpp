// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstdint>
#include <span>

namespace tutti {

/// The blocking MPI collectives that tutti calls, e.g. as the baseline `mpi`. The preload defines
/// functions of the same names, so it sets these pointers to the MPI library's own functions.
struct MpiCollectives {
    decltype(&MPI_Allreduce) all_reduce = MPI_Allreduce;
    decltype(&MPI_Reduce_scatter_block) reduce_scatter = MPI_Reduce_scatter_block;
    decltype(&MPI_Allgather) all_gather = MPI_Allgather;
    decltype(&MPI_Bcast) broadcast = MPI_Bcast;
    decltype(&MPI_Reduce) reduce = MPI_Reduce;
    decltype(&MPI_Scatter) scatter = MPI_Scatter;
    decltype(&MPI_Gather) gather = MPI_Gather;
    decltype(&MPI_Alltoall) all_to_all = MPI_Alltoall;
    decltype(&MPI_Barrier) barrier = MPI_Barrier;
};
extern MpiCollectives mpi_collectives;

/// Replaces each value by its maximum over the ranks of a communicator of the program. The
/// program's error handler is not called. Collective. Throws Error.
void maximize_over_ranks(MPI_Comm comm, std::span<std::int64_t> values);

}  // namespace tutti
