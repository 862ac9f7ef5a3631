// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "workloads/program/program.hpp"

namespace tutti {

/// How a step would go if collectives took no time once all who are needed have come.
struct IdealRun {
    std::vector<std::int64_t> end_ns;      // by rank
    std::vector<std::int64_t> compute_ns;  // by rank
    std::int64_t step_ns() const;
    /// Of the time of all ranks until the last one ends, the part in which they do not compute.
    double idle_share() const;
};

/// Whether the root of a broadcast is done at once (its message is put aside) or, as with large
/// messages, only when the others have come; or whether nobody goes on after starting any call
/// before all have come, as with a library's blocking calls.
enum class Sending : std::uint8_t { put_aside, handed_over, blocking };

/// Takes the first recorded step. Throws Error naming a call if ranks wait for each other in a
/// circle. `program` has been checked.
IdealRun ideal_run(const Program& program, Sending sending = Sending::put_aside);

}  // namespace tutti
