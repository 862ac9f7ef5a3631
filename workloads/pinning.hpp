// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/transport/world.hpp"

namespace tutti {

/// One hardware thread of each core that this rank may use, by the operating system's numbers.
std::vector<int> cpus_of_cores();

/// How many ranks before this one may use just the same CPUs: so ranks that share a choice, and
/// those that the launcher has bound, each find one of their own. Collective.
int seat_among_equals(World& world, const std::vector<int>& cpus);

/// Runs this thread on one CPU; nothing happens where that is not allowed.
void run_on(int cpu);

/// Gives each rank a core of its own, where there are enough and the launcher has not chosen any:
/// else the system may leave two that spin on one core, for seconds. Collective; says whether.
bool pin_ranks(World& world);

}  // namespace tutti
