// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "collectives/world/world.hpp"
#include "results/records/limits.hpp"

namespace tutti {

/// Measures the limits of this host for about `seconds`: each figure is the best of several tries,
/// spread over the time. One rank for each core takes part; the others sleep. Collective, ranks of
/// one host; the same result on all ranks.
Limits measure_limits(World& world, double seconds);

/// Measures the limits where ranks may be on several hosts. `of_first_host` finds the limits of one
/// host, which are used for all hosts. It runs on the ranks of the first host in their own world
/// for about `seconds_on_host` while the others sleep. Then the network between the hosts is
/// measured. Collective; the same result on all ranks. If `of_first_host` throws Error with
/// Exit::usage, all ranks do.
Limits limits_of_hosts(World& world, const std::function<Limits(World&)>& of_first_host,
                       double seconds_on_host, double seconds_on_network);

}  // namespace tutti
