// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "collectives/world/rendezvous/rendezvous.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The launcher (mpirun, mpiexec, srun) that started this process according to the environment, or
/// the rendezvous given on the command line.
struct Launcher {
    std::string name;  ///< such as "Open MPI's mpirun"; empty: none
    int rank = 0;
    int size = 1;
    bool is_there() const { return !name.empty(); }
};

Launcher launcher();

/// Makes this process the rank of a rendezvous.
void join_rendezvous(const Rendezvous& rendezvous);

/// How ranks are started.
struct RankOptions {
    std::optional<int> threads;  ///< --ranks
    double hang_timeout = 30;
    std::optional<double> start_timeout;  ///< for MPI_Init and the first exchange, or a rendezvous
    std::string results_file;             ///< where a lost rank is recorded; may be empty
};

/// Runs body(world) on every rank: as a process of a rendezvous if one was given, as MPI processes
/// under a launcher, otherwise as threads (one without --ranks). Returns the worst exit code.
/// Throws Error if the launcher and MPI do not agree.
Exit run_ranks(const RankOptions& options, const std::function<Exit(World&)>& body);

}  // namespace tutti
