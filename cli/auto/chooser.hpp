// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "autotune/table/table.hpp"
#include "tutti/communicator.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

/// A communicator of the library (communicator.hpp) as a candidate of a sweep: what a program would
/// get, look-ups included.
struct CommunicatorCandidate {
    Candidate candidate;
    std::function<Table()> learnt;  ///< collective
};

/// "auto": by a table that has been adapted to these ranks, or by the built-in rules; on devices by
/// the table alone. Collective.
CommunicatorCandidate candidate_by_table(World& world, const std::optional<Table>& table,
                                         std::size_t most_plans = CommunicatorOptions{}.most_plans);

/// "learn": tries while the sweep runs, within `bound` (a share of the time); begins with a table
/// or with the built-in rules. Collective.
CommunicatorCandidate candidate_that_learns(World& world, const std::optional<Table>& table,
                                            double bound);

}  // namespace tutti
