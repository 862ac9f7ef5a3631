// SPDX-License-Identifier: Apache-2.0
// Takes the place of mpi.cpp where no MPI library was found when configuring.
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {

std::optional<std::string> mpi_missing() {
    return "this build has no MPI; run scripts/setup and build again";
}

MpiSession::MpiSession() { throw Error(*mpi_missing()); }
MpiSession::~MpiSession() = default;

std::unique_ptr<World> mpi_world(int) { throw Error(*mpi_missing()); }

int mpi_handle(const World&) { throw Error(*mpi_missing()); }

std::unique_ptr<MessageTransport> mpi_transport(World&) { throw Error(*mpi_missing()); }

std::string mpi_library() { return "none"; }

}  // namespace tutti
