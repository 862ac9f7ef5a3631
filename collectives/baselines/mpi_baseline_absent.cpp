// SPDX-License-Identifier: Apache-2.0
// Replaces mpi_baseline.cpp if no MPI library was found when configuring.
#include "collectives/baselines/library_baselines.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {

void allow_forced_mpi_algorithms() {}

void restore_mpi_settings() {}

std::vector<std::string> mpi_algorithms(Collective) { return {}; }

std::optional<std::string> mpi_baseline_refuses(World&, const LibraryCall&) {
    return mpi_missing();
}

std::unique_ptr<Operation> mpi_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*mpi_missing());
}

std::unique_ptr<Operation> mpi_nonblocking(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*mpi_missing());
}

}  // namespace tutti
