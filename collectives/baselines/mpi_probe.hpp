// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

/// A call of the MPI library on the first ranks of a job.
struct ProbedCall {
    Collective collective;
    int ranks;
    Bytes size;  ///< as tutti counts it; a multiple of the ranks for collectives with blocks
};

enum class ProbeAnswer : char { accepted = 'y', refused = 'n', too_few_ranks = '-' };

/// The answers are those of rank 0; empty on the others.
struct MpiProbe {
    std::string library;
    std::string answers;               ///< a ProbeAnswer for each call
    std::vector<std::string> reports;  ///< what the library wrote to stderr in each call
};

/// Starts MPI, makes the calls, gives what it found to `report` on each rank, and ends MPI: a
/// launcher may lose what a rank prints after that. Uses no collective of MPI_COMM_WORLD, as rules
/// that make calls fail may hold for it. Throws Error.
void probe_mpi(std::span<const ProbedCall> calls, const std::function<void(MpiProbe)>& report);

}  // namespace tutti
