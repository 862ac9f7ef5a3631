// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "workloads/program/program.hpp"

namespace tutti {

/// A step of a program in which a collective ends as soon as the ranks it needs have started it.
struct IdealRun {
    std::vector<std::int64_t> end_ns;      // by rank
    std::vector<std::int64_t> compute_ns;  // by rank
    std::int64_t step_ns() const;
    /// Returns the share of all ranks' time, until the last one ends, in which they do not compute.
    double idle_share() const;
};

/// How long the root of a broadcast waits, as in MPI's send modes.
enum class SendMode : std::uint8_t {
    buffered,     ///< the root of a broadcast continues at once
    synchronous,  ///< the root continues once all other ranks have started the call
    blocking      ///< starting any call waits for all ranks, like a library's blocking collectives
};

/// Simulates the first recorded step. Throws Error naming a call on a deadlock. `program` must have
/// been checked.
IdealRun ideal_run(const Program& program, SendMode sending = SendMode::buffered);

}  // namespace tutti
