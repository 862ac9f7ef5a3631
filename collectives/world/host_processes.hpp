// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// Returns a name that all processes of one host share, and no process of another host.
std::string name_of_this_host();

/// Numbers the hosts in the order of their first rank, given the host name of every rank.
Placement hosts_by_name(const std::vector<std::string>& name_of_rank);

/// Whether there are more ranks than cores or, in a container, than the CPUs' worth of time that
/// its quota grants.
bool take_turns(int ranks, int cores, std::optional<double> cpu_quota);

/// Whether some machine runs more of these processes than it has cores. The same on all ranks,
/// because it decides how they synchronize. Collective.
bool is_oversubscribed(World& world);

}  // namespace tutti
