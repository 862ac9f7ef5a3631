// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// Returns a name that all processes of one host share, and no process of another host.
std::string name_of_this_host();

/// Numbers the hosts in the order of their first rank, given the host name of every rank.
Placement hosts_by_name(const std::vector<std::string>& name_of_rank);

/// Whether some machine runs more of these processes than it has cores. The same on all ranks,
/// because it decides how they synchronize. Collective.
bool is_oversubscribed(World& world);

}  // namespace tutti
