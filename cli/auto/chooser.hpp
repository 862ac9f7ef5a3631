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

/// True on all ranks if rank 0 has the file of a tuning table. `is_named`: the user has named the
/// file. If not, and if the table has no entries, prints a line on stderr and returns false.
/// Collective.
bool has_table(World& world, const std::string& file, bool is_named);

/// "auto": what a program gets of the library with this table, in each group by what the table says
/// of its ranks; by the built-in rules where there is no such file, or, in a group that is a part
/// of all ranks, where it has nothing for that. Buffers on devices only as the table says.
/// `anyway`: also of another topology. of_group throws Error as table_for_ranks does, on all ranks
/// alike.
Method method_by_table(const std::string& file, bool anyway);

}  // namespace tutti
