// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "collectives/world/world.hpp"
#include "results/records/limits.hpp"

namespace tutti {

/// What this host can do at its best, in about so many seconds: each figure is the best of several
/// tries, spread over the time. One rank for each core takes part; others sleep meanwhile.
/// Collective, ranks of one host; the same result on all ranks.
Limits measure_limits(World& world, double seconds);

/// The same where ranks may be on several hosts. `of_first_host` finds the limits of one host; it
/// runs on the ranks of the first one, with a world of their own, for about so many seconds while
/// the others sleep, and stands for all hosts. The network between the hosts is measured behind it.
/// Collective; the same result on all ranks. If `of_first_host` throws Error with Exit::usage, all
/// ranks do.
Limits limits_of_hosts(World& world, const std::function<Limits(World&)>& of_first_host,
                       double seconds_on_host, double seconds_on_network);

}  // namespace tutti
