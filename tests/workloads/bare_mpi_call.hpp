// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstring>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"

namespace tutti::test {

/// The MPI library's own call of floats with nothing around it, on the buffers of one rank.
inline void bare_mpi_call(const Call& call, const CallBuffers& buffers) {
    const int n = static_cast<int>(call.count);
    const void* const input = buffers.in_place ? MPI_IN_PLACE : buffers.input.data();
    void* const mine = buffers.input.data() == nullptr
                           ? buffers.output.data()
                           : const_cast<std::byte*>(buffers.input.data());
    void* const output = buffers.output.data();
    const MPI_Comm all = MPI_COMM_WORLD;
    switch (call.collective) {
        case Collective::all_reduce:
            PMPI_Allreduce(input, output, n, MPI_FLOAT, MPI_SUM, all);
            break;
        case Collective::reduce_scatter:
            PMPI_Reduce_scatter_block(input, buffers.in_place ? mine : output, n, MPI_FLOAT,
                                      MPI_SUM, all);
            break;
        case Collective::all_gather:
            PMPI_Allgather(input, n, MPI_FLOAT, output, n, MPI_FLOAT, all);
            break;
        case Collective::broadcast:  // in one buffer: the root has its message there as well
            if (!buffers.in_place) std::memcpy(output, mine, buffers.input.size());
            PMPI_Bcast(output, n, MPI_FLOAT, 0, all);
            break;
        case Collective::reduce:
            PMPI_Reduce(input, output, n, MPI_FLOAT, MPI_SUM, 0, all);
            break;
        case Collective::scatter:
            PMPI_Scatter(mine, n, MPI_FLOAT, buffers.in_place ? MPI_IN_PLACE : output, n, MPI_FLOAT,
                         0, all);
            break;
        case Collective::gather:
            PMPI_Gather(input, n, MPI_FLOAT, output, n, MPI_FLOAT, 0, all);
            break;
        case Collective::all_to_all:
            PMPI_Alltoall(input, n, MPI_FLOAT, output, n, MPI_FLOAT, all);
            break;
        case Collective::barrier:
            PMPI_Barrier(all);
            break;
        case Collective::scan:
            PMPI_Scan(input, output, n, MPI_FLOAT, MPI_SUM, all);
            break;
        case Collective::exscan:
            PMPI_Exscan(input, output, n, MPI_FLOAT, MPI_SUM, all);
            break;
    }
}

}  // namespace tutti::test
