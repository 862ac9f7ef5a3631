// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// What the environment says of an mpirun, mpiexec or srun that started this process, or what was
/// typed of a rendezvous.
struct Launcher {
    std::string name;  ///< "Open MPI's mpirun"; empty: none
    int rank = 0;
    int size = 1;
    bool is_there() const { return !name.empty(); }
};

Launcher launcher();

/// How the ranks are to be had.
struct RankOptions {
    std::optional<int> threads;  ///< --ranks
    double hang_timeout = 30;
    std::optional<double> start_timeout;  ///< for MPI_Init and the first exchange, or a rendezvous
    std::string results_file;             ///< where a lost rank is to be recorded; may be empty
};

/// Runs body(world) on every rank: as processes that meet by a rendezvous, where one was typed, as
/// MPI processes under a launcher, else as threads (one without --ranks). Returns the worst exit
/// code. Throws Error if the launcher and MPI do not agree.
Exit run_ranks(const RankOptions& options, const std::function<Exit(World&)>& body);

}  // namespace tutti
