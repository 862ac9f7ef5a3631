// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/ids.hpp"
#include "base/types.hpp"
#include "topology/order.hpp"
#include "topology/placement.hpp"

namespace tutti {

/// What a schedule is wanted for. An algorithm takes from it just what it needs.
struct Job {
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    Rank root = {0};
    int segments = 1;          ///< how finely pipelined algorithms cut; others ignore it
    Placement placement = {};  ///< which rank sits in which node; empty: all in one
    Order order = {};          ///< see build_in_order; algorithms ignore it
};

}  // namespace tutti
