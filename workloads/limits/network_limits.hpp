// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/limits.hpp"

namespace tutti {

/// Pairs of hosts, in rounds of pairs without a common host: all pairs of up to 8 hosts; of more,
/// those whose numbers differ in one bit, so that each host is in a pair and rounds stay few.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts);

/// The names of the hosts, in their order. Collective; the same on all ranks.
std::vector<std::string> names_of_hosts(World& world, const Placement& hosts);
inline std::vector<std::string> names_of_hosts(World& world) {
    return names_of_hosts(world, world.hosts());
}

/// What the network between the hosts of these ranks can do at its best, in about so many seconds:
/// the leaders of hosts (their first ranks) send messages to each other over the transport of plain
/// messages while all others sleep; then all ranks of all hosts send at once. Collective; the same
/// result on all ranks. `hosts` are those of the world but for tests; at least two.
HostNetwork measure_network(World& world, const Placement& hosts, double seconds);

}  // namespace tutti
