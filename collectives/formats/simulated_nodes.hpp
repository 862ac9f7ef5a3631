// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "collectives/formats/schedule_formats.hpp"

namespace tutti {

/// A simulator's view of an operation: its cost and its dependences.
struct SimulatedNode {
    enum class Kind { send, receive, compute };
    Kind kind = Kind::compute;
    int peer = 0, tag = 0;  ///< of messages; no two messages have the same tag
    std::int64_t bytes = 0;
    std::vector<int> after = {};  ///< positions of earlier nodes of the rank
};

/// Returns the nodes of each rank. Messages arrive in memory of their own, as in tutti's executor,
/// so a receive waits for nothing. Throws Error if a message would have less than one byte.
std::vector<std::vector<SimulatedNode>> simulated_nodes(const ExportedSchedule& exported);

}  // namespace tutti
