// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/execute/baselines.hpp"

namespace tutti {

/// Why MPI's own collective cannot be compared for this call: types that MPI does not have, counts
/// beyond its int.
std::optional<std::string> mpi_baseline_refuses(const World& world, const Call& call);

/// MPI_Allreduce, MPI_Bcast, ... on MPI_COMM_WORLD with the library's own choice of algorithm.
/// `avg`, which MPI lacks, is its sum and our division.
std::unique_ptr<Operation> mpi_baseline(World& world, const Call& call, const CallBuffers& buffers);

}  // namespace tutti
