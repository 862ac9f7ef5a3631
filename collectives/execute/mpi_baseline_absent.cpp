// SPDX-License-Identifier: Apache-2.0
// Takes the place of mpi_baseline.cpp where no MPI library was found when configuring.
#include "collectives/execute/mpi_baseline.hpp"
#include "collectives/transport/mpi.hpp"

namespace tutti {

std::optional<std::string> mpi_baseline_refuses(const World&, const Call&) { return mpi_missing(); }

std::unique_ptr<Operation> mpi_baseline(World&, const Call&, const CallBuffers&) {
    throw Error(*mpi_missing());
}

}  // namespace tutti
