// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// What processes of one host, and only they, have in common.
std::string name_of_this_host();

/// Numbers the hosts in the order of their first rank, by every rank's name of its host.
Placement hosts_by_name(const std::vector<std::string>& name_of_rank);

/// Whether some machine has more of these processes than cores for them, the same on all ranks, as
/// it decides how they meet. Collective.
bool is_oversubscribed(World& world);

}  // namespace tutti
