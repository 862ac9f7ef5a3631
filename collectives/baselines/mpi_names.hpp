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

}  // namespace tutti
