// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "collectives/baselines/baselines.hpp"

// The functions of the rows in baselines.cpp. Each library's functions are in its own file, or, if
// it was not found when configuring, in the file *_absent.cpp.
namespace tutti {

/// Lets Open MPI accept forced algorithms; call this before it starts. Calls without a forced
/// algorithm are not affected.
void allow_forced_mpi_algorithms();

/// Implements Baseline::restore for MPI.
void restore_mpi_settings();

/// Returns the names of the running MPI library's algorithms for the collective. None before MPI
/// runs.
std::vector<std::string> mpi_algorithms(Collective collective);

/// Returns why MPI's own collective cannot be compared for this call: GPU memory, types that MPI
/// does not have, counts beyond its int, an algorithm that cannot be forced or would be replaced.
std::optional<std::string> mpi_baseline_refuses(World& world, const LibraryCall& call);

/// MPI_Allreduce, MPI_Bcast, ... on the world's own communicator with the library's own choice of
/// algorithm, or on a copy of it with a forced one. MPI has no `avg`: it is MPI's sum and a
/// division by tutti.
std::unique_ptr<Operation> mpi_baseline(World& world, const LibraryCall& call,
                                        const CallBuffers& buffers);

/// MPI_Iallreduce, MPI_Ibcast, ... and MPI_Test until they are done. Libraries have other
/// algorithms for these, without names.
std::unique_ptr<Operation> mpi_nonblocking(World& world, const LibraryCall& call,
                                           const CallBuffers& buffers);

/// Returns why NCCL's own collective cannot be compared for this call: no GPU or several ranks on
/// one, host buffers, types that NCCL does not have, an all-to-all in place.
std::optional<std::string> nccl_baseline_refuses(World& world, const LibraryCall& call);

/// ncclAllReduce, ncclBroadcast, ... on the ranks' communicator; collectives without such a call
/// (all_to_all, scatter, gather) are one group of ncclSend and ncclRecv.
std::unique_ptr<Operation> nccl_baseline(World& world, const LibraryCall& call,
                                         const CallBuffers& buffers);

}  // namespace tutti
