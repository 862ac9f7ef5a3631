// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/baselines/baselines.hpp"

// The rows of baselines.cpp. Each library's functions are in its own file, or, where it was not
// found when configuring, in the file *_absent.cpp.
namespace tutti {

/// Lets Open MPI accept forced algorithms; to be called before it starts.
/// Nothing changes for calls on which none is forced.
void allow_forced_mpi_algorithms();

/// See Baseline::leave_as_found.
void leave_mpi_as_found();

/// The algorithms that the running MPI library names for the collective. None before MPI runs.
std::vector<std::string> mpi_algorithms(Collective collective);

/// Why MPI's own collective cannot be compared for this call: memory of a GPU, types that MPI does
/// not have, counts beyond its int, an algorithm that cannot be forced or would not be the one that
/// runs.
std::optional<std::string> mpi_baseline_refuses(World& world, const LibraryCall& call);

/// MPI_Allreduce, MPI_Bcast, ... on the world's own communicator with the library's own choice of
/// algorithm, or on a copy of it with a forced one. `avg`, which MPI lacks, is its sum and our
/// division.
std::unique_ptr<Operation> mpi_baseline(World& world, const LibraryCall& call,
                                        const CallBuffers& buffers);

/// MPI_Iallreduce, MPI_Ibcast, ... and MPI_Test until they are done. The library has other
/// algorithms for these, and no names for them.
std::unique_ptr<Operation> mpi_nonblocking(World& world, const LibraryCall& call,
                                           const CallBuffers& buffers);

/// Why NCCL's own collective cannot be compared for this call: no GPU or several ranks on one,
/// buffers of the host, types that NCCL does not have, an all-to-all in place.
std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& call);

/// ncclAllReduce, ncclBroadcast, ... on the ranks' one communicator; what NCCL has no call for
/// (all_to_all, scatter, gather) as one group of ncclSend and ncclRecv.
std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& call,
                                         const CallBuffers& buffers);

}  // namespace tutti
