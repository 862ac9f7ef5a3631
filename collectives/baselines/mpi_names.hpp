// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/name_table.hpp"
#include "base/types.hpp"

namespace tutti {

/// MPI's name of each collective that it has, as in the settings of MPI libraries.
inline constexpr Named<Collective> mpi_names[] = {
    {Collective::all_reduce, "allreduce"}, {Collective::reduce_scatter, "reduce_scatter_block"},
    {Collective::all_gather, "allgather"}, {Collective::broadcast, "bcast"},
    {Collective::reduce, "reduce"},        {Collective::scatter, "scatter"},
    {Collective::gather, "gather"},        {Collective::all_to_all, "alltoall"},
    {Collective::barrier, "barrier"},      {Collective::scan, "scan"},
    {Collective::exscan, "exscan"},
};

/// Returns the name that UCC and oneCCL use: MPI's reduce_scatter_block is their reduce_scatter.
inline std::string_view name_without_blocks(Collective collective) {
    return collective == Collective::reduce_scatter ? "reduce_scatter"
                                                    : name_in(mpi_names, collective);
}

}  // namespace tutti
