// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <span>
#include <vector>

#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// Ranks in groups; each rank is in one.
using RankGroups = std::vector<std::vector<Rank>>;

/// Returns a group for each rank.
RankGroups each_alone(int ranks);

/// Counts what crosses between the groups of each level, in one pass over the schedule: Counts with
/// the groups in place of the ranks. Throws Error for more than `most_transfers` between ranks.
std::vector<Counts> count_crossings(const Schedule& schedule, const CollectiveSpec& spec,
                                    std::span<const RankGroups> levels,
                                    long most_transfers = std::numeric_limits<long>::max());

/// Returns the vectors that all send in total: the vector, or the blocks of all ranks.
double vectors_in(const Counts& counts);

/// The least that any algorithm sends between groups of ranks: out of and into each group, in total
/// (as many leave as arrive), and in messages. Data is counted in vectors, or in blocks of one
/// rank. Partial results of a group are combined before they leave, and are assumed to be no
/// smaller than their inputs.
struct LeastCrossing {
    std::vector<double> out, in;
    double total = 0;
    long messages = 0;

    /// Returns the least of the group that must send or receive the most. It is at least the mean:
    /// what is sent and received in total may be shared by the groups.
    double busiest() const;
};

LeastCrossing least_crossing(const CollectiveSpec& spec, const RankGroups& groups);

}  // namespace tutti
