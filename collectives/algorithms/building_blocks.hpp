// SPDX-License-Identifier: Apache-2.0
#pragma once
// Algorithms that other algorithms are built from. All others are declared where they are listed,
// in catalog.cpp.
#include <algorithm>

#include "base/index.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Groups of ranks from the innermost outwards; each lies inside one group of the next.
using Nesting = std::vector<Grouping>;

/// An algorithm for a group of any size.
using Builder = std::function<Schedule(int ranks)>;

/// How a hierarchical schedule divides ranks, and communicates in each level.
struct LevelPlan {
    Nesting nesting;
    int algorithms = 0;       ///< Configuration::level_algorithms
    Builder all_reduce = {};  ///< among the leaders of the outermost groups, in place of these
};

Schedule chain_broadcast(int ranks, Rank root);
Schedule linear_broadcast(int ranks, Rank root);
Schedule linear_scatter(int ranks, Rank root);
Schedule tree_broadcast(int ranks, Rank root, int radix = 2);
Schedule tree_reduce(int ranks, Rank root, int radix = 2);
Schedule tree_scatter(int ranks, Rank root, int radix = 2);
Schedule tree_gather(int ranks, Rank root, int radix = 2);
Schedule tree_all_reduce(int ranks, int radix);
Schedule ring_all_gather(int ranks);
Schedule ring_reduce_scatter(int ranks);
Schedule ring_all_reduce(int ranks);
Schedule ring_scatter(int ranks, Rank root);
Schedule butterfly_all_reduce(int ranks, int radix);
Schedule butterfly_scatter(int ranks, Rank root);
Schedule bruck_all_gather(int ranks, int radix);
Schedule one_shot_all_reduce(int ranks);
Schedule one_shot_all_gather(int ranks);
Schedule multi_rail_all_reduce(int ranks, const Placement& placement);
Schedule multi_rail_broadcast(int ranks, Rank root, const Placement& placement);
Schedule multi_rail_all_gather(int ranks, const Placement& placement);

/// A message of an all-to-all, with the blocks that some ranks send to others.
struct BlockMessage {
    std::vector<Rank> senders;
    std::vector<Chunks> receivers;  ///< ranks, see runs_of
    Rank from, to;                  ///< the ranks that exchange the message
};

/// Copies each sender's blocks for all receivers but itself, where the block from s to r of P ranks
/// is chunk s P + r.
void copy_blocks(Step& step, int ranks, const BlockMessage& message);

/// Calls visit(from, to) for each rank and the one `places` ahead in the circle of ranks. Leaves
/// out pairs whose transfers the step ignores, without looking at them all.
template <class Visit>
void for_each_pair(const Step& step, int ranks, int places, const Visit& visit) {
    const Ring ring{ranks};
    const auto only = step.only();
    if (!only) {
        for (const Rank from : all_ranks(ranks)) visit(from, ring.ahead(from, places));
        return;
    }
    const Rank behind = ring.behind(*only, places);
    const auto [first, last] = std::minmax(behind, *only);
    visit(first, ring.ahead(first, places));
    if (first != last) visit(last, ring.ahead(last, places));
}

// Numbers in a base, the radix of an algorithm. Up to most_radix, all fit an int for any rank count
// that a schedule can have.

inline int power(int radix, int exponent) {
    int result = 1;
    while (exponent-- > 0) result *= radix;
    return result;
}

/// Returns the number of digits of ranks 0 .. ranks-1: ceil(log ranks).
inline int rounds_to_reach(int ranks, int radix) {
    int rounds = 0;
    for (int reached = 1; reached < ranks; reached *= radix) ++rounds;
    return rounds;
}

/// Returns the digit for multiples of `place`, a power of the radix.
inline int digit_of(int number, int place, int radix) { return number / place % radix; }

/// Returns the largest power of the radix up to `ranks`.
inline int power_within(int ranks, int radix) {
    int within = 1;
    while (within <= ranks / radix) within *= radix;
    return within;
}

}  // namespace tutti
