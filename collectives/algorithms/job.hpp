// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/ids.hpp"
#include "base/types.hpp"
#include "topology/placement/order.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// What a step multiplies by where nothing is asked for.
inline constexpr int default_radix = 2;
/// A rank that serves more peers in a step than this is as good as linear.
inline constexpr int most_radix = 64;

/// What a schedule is wanted for. An algorithm takes from it just what it needs.
struct Job {
    Collective collective = Collective::all_reduce;
    int ranks = 1;
    Rank root = {0};
    int segments = 1;          ///< how finely pipelined algorithms cut; others ignore it
    int radix = 0;             ///< of algorithms that take one, 2 .. most_radix; 0: the default, 2
    Placement placement = {};  ///< which rank is in which node; empty: all in one
    Order order = {};          ///< see build_in_order; algorithms ignore it
};

}  // namespace tutti
