// SPDX-License-Identifier: Apache-2.0
// Replaces the baselines whose libraries were not found when configuring; CMake defines which.
#include "collectives/baselines/baselines.hpp"
#include "collectives/baselines/mpi_probe.hpp"
#include "collectives/transport/gpu/nccl.hpp"
#include "collectives/transport/messages/mpi.hpp"

namespace tutti {

#ifdef TUTTI_WITHOUT_MPI
void allow_forced_mpi_algorithms() {}

void restore_mpi_settings() {}

std::vector<std::string> mpi_algorithms(Collective) { return {}; }

std::optional<std::int64_t> own_value_of_mpi(Collective, std::string_view, const Knob&) {
    return std::nullopt;
}

std::optional<std::string> mpi_baseline_refuses(World&, const LibraryCall&) {
    return mpi_missing();
}

std::unique_ptr<Operation> mpi_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*mpi_missing());
}

void probe_mpi(std::span<const ProbedCall>, const std::function<void(MpiProbe)>&) {
    throw Error(*mpi_missing());
}

std::unique_ptr<Operation> mpi_nonblocking(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*mpi_missing());
}
#endif

#ifdef TUTTI_WITHOUT_NCCL
void allow_forced_nccl_algorithms() {}

void let_nccl_tell_choices() {}

std::string nccl_choice_of(const Operation&) { return ""; }

std::optional<std::string> nccl_baseline_refuses(World&, const LibraryCall&) {
    return nccl_missing();
}

std::optional<std::string> other_nccl_missing() { return nccl_missing(); }

void allow_forced_other_nccl_algorithms() {}

std::optional<std::string> other_nccl_refuses(World&, const LibraryCall&) { return nccl_missing(); }

std::unique_ptr<Operation> other_nccl_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*nccl_missing());
}

std::unique_ptr<Operation> nccl_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*nccl_missing());
}
#endif

#ifdef TUTTI_WITHOUT_UCC
std::optional<std::string> ucc_missing() {
    return "this build has no UCC; install UCC 1.4 or later (libucc-dev) and build again";
}

std::string ucc_library() { return "none"; }

std::vector<std::string> ucc_algorithms(Collective) { return {}; }

std::optional<std::string> ucc_baseline_refuses(World&, const LibraryCall&) {
    return ucc_missing();
}

std::unique_ptr<Operation> ucc_baseline(World&, const LibraryCall&, const CallBuffers&) {
    throw Error(*ucc_missing());
}
#endif

}  // namespace tutti
