// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms that others are built from. Everything else is declared where it is listed, in
// catalog.cpp.
#include "base/ids.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Groups of ranks from the innermost outwards; each lies inside one group of the next.
using Nesting = std::vector<Grouping>;

/// An algorithm for a group of any size.
using Builder = std::function<Schedule(int ranks)>;

Schedule chain_broadcast(int ranks, Rank root);
Schedule tree_broadcast(int ranks, Rank root, int radix = 2);
Schedule tree_reduce(int ranks, Rank root, int radix = 2);
Schedule tree_scatter(int ranks, Rank root, int radix = 2);
Schedule tree_gather(int ranks, Rank root, int radix = 2);
Schedule ring_all_gather(int ranks);
Schedule ring_reduce_scatter(int ranks);
Schedule ring_all_reduce(int ranks);
Schedule butterfly_all_reduce(int ranks, int radix);

}  // namespace tutti
