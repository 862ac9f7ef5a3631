// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "topology/placement/order.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Where every rank runs, by what it may run on now. Collective; the same on all ranks.
std::vector<RankBinding> sites_of_ranks(World& world);

/// Nodes are the hosts, islands their NUMA nodes; ranks that may run on several of these share one
/// island of their host.
Placement placement_of(const std::vector<RankBinding>& sites);

/// What --order-by calls naive, topology or a file. Collective; rank 0 alone reads the file. Throws
/// Error with what to type instead.
Order order_called(const std::string& name, World& world, const std::vector<RankBinding>& sites);

}  // namespace tutti
