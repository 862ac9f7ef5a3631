// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms that others are built from. Everything else is declared where it is listed, in
// catalog.cpp.
#include "base/ids.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement.hpp"

namespace tutti {

/// Groups of ranks from the innermost outwards; each lies inside one group of the next.
using Nesting = std::vector<Grouping>;

Schedule chain_broadcast(int ranks, Rank root);
Schedule binomial_broadcast(int ranks, Rank root);
Schedule binomial_reduce(int ranks, Rank root);
Schedule binomial_scatter(int ranks, Rank root);
Schedule binomial_gather(int ranks, Rank root);
Schedule ring_all_gather(int ranks);
Schedule ring_reduce_scatter(int ranks);
Schedule ring_all_reduce(int ranks);
Schedule butterfly_all_reduce(int ranks);

}  // namespace tutti
