// SPDX-License-Identifier: Apache-2.0
// Replaces the transports whose libraries were not found when configuring; CMake defines which.
#include "collectives/device/gpus.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/ucx/ucx.hpp"

namespace tutti {

#ifdef TUTTI_WITHOUT_MPI
std::vector<NetworkDevice> cards_used_by_mpi() { return {}; }

std::optional<std::string> mpi_missing() {
    return "this build has no MPI; run scripts/setup and build again";
}

MpiSession::MpiSession() { throw Error(*mpi_missing()); }
MpiSession::~MpiSession() = default;

std::unique_ptr<World> mpi_world(int, std::optional<double>) { throw Error(*mpi_missing()); }

int mpi_handle(const World&) { throw Error(*mpi_missing()); }

std::unique_ptr<MessageTransport> mpi_transport(World&) { throw Error(*mpi_missing()); }

std::string mpi_library() { return "none"; }
std::string file_of_mpi_library() { throw Error(*mpi_missing()); }
#endif

#ifdef TUTTI_WITHOUT_UCX
std::optional<std::string> ucx_missing() {
    return "this build has no UCX; run scripts/setup and build again";
}

std::optional<std::string> ucx_refuses(World&, UcxReach) { return ucx_missing(); }

std::unique_ptr<MessageTransport> ucx_transport(World&, UcxReach) { throw Error(*ucx_missing()); }

std::string ucx_version() { return "none"; }
#endif

#ifdef TUTTI_WITHOUT_NCCL
std::optional<std::string> nccl_missing() {
    if (auto missing = cuda_not_built()) return missing;
    return "this build has no NCCL; install libnccl-dev in addition to CUDA and build again";
}

std::string nccl_version() { return "none"; }

void load_other_nccl(const std::string&) { throw Error(*nccl_missing()); }

std::string describe_other_nccl() { return ""; }

std::optional<std::string> nccl_refuses(World&) { return nccl_missing(); }

std::unique_ptr<MessageTransport> nccl_transport(World&) { throw Error(*nccl_missing()); }
#endif

}  // namespace tutti
