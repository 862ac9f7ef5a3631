// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "autotune/table/table.hpp"
#include "tutti/communicator.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// A communicator of the library (communicator.hpp) as a candidate of a sweep: it measures what a
/// program would get, including the choice.
struct CommunicatorCandidate {
    Candidate candidate;
    std::function<Table()> learnt;  ///< collective
};

/// Makes "auto": it chooses by a table adapted to these ranks, or by the built-in rules; on devices
/// only by the table. Collective.
CommunicatorCandidate candidate_by_table(World& world, const std::optional<Table>& table,
                                         std::size_t most_plans = CommunicatorOptions{}.most_plans);

/// Makes "learn": it explores during the sweep within `bound` (a share of the time), starting from
/// a table or the built-in rules. Collective.
CommunicatorCandidate candidate_that_learns(World& world, const std::optional<Table>& table,
                                            double bound);

/// True on all ranks if rank 0 has the file of a tuning table. `is_named`: the user has named the
/// file. If not, and if the table has no entries, prints a line on stderr and returns false.
/// Collective.
bool has_table(World& world, const std::string& file, bool is_named);

/// Makes "auto" for workloads: each group of ranks chooses by the table, or by the built-in rules
/// if there is no such file, or if the group is a part of all ranks and the table has no entries
/// for it. Buffers on devices only follow the table. `anyway`: accept a table of another topology.
/// of_group throws Error as table_for_ranks does, the same on all ranks.
Method method_by_table(const std::string& file, bool anyway);

}  // namespace tutti
