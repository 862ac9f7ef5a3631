// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/execute/planner.hpp"

namespace tutti {

/// What competes at a point: one of our algorithms over one transport, or a library's collective by
/// its own choice of algorithm or by a forced one.
struct Candidate {
    std::string impl;            ///< "tutti", or the baseline's name
    std::string algorithm = {};  ///< of ours, or forced on the library; empty: the library chooses
    std::string transport = {};  ///< of ours; empty for a baseline
    std::string order = {};      ///< of the ranks, by name; empty: the launcher's
    const Algorithm* row = nullptr;
    const Baseline* baseline = nullptr;

    bool is_ours() const { return row != nullptr; }
    std::string name() const;  ///< "ring/shm", "ring@topology/shm", "mpi" or "mpi/ring"
};

/// Names as the command line gives them. "all" stands for every one; of a library, "mpi/ring" for
/// one of its algorithms and "mpi/all" for its own choice and every one that can be forced.
struct Contest {
    std::vector<std::string> algorithms{"all"};
    std::vector<std::string> transports{"all"};
    std::vector<std::string> baselines{"mpi"};
    /// Of the ranks, for our algorithms: naive, topology or files. Each is a candidate of its own.
    std::vector<std::string> orders{"naive"};
};

/// Tells libraries whose algorithms are to be forced so before they start.
void before_start(const Contest& contest);

/// The candidates in the order of the catalog, baselines last. Throws Error for an unknown name or
/// an algorithm that does not do this collective; a library's algorithms have names only while it
/// runs. Says nothing of whether they run here: see refusal.
std::vector<Candidate> candidates(Collective collective, const Contest& contest);

/// Why these ranks cannot run the candidate for this call; nothing if they can. Collective.
std::optional<std::string> refusal(Planner& planner, const Candidate& candidate, const Call& call,
                                   bool in_place, const Placement& placement);

}  // namespace tutti
