// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// One hardware thread of each core that this rank may use, by the operating system's numbers.
std::vector<int> cpus_of_cores();

/// How many ranks before this one may use just the same CPUs: so ranks that share a choice, and
/// those that the launcher has bound, each find one of their own. Collective.
int seat_among_equals(World& world, const std::vector<int>& cpus);

/// Runs this thread on one CPU; nothing happens where that is not allowed.
void run_on(int cpu);

/// Gives each rank a core of its own, or, where there are more ranks than cores, each core as many
/// neighbouring ranks as the others: else the system leaves two that spin on one core, for seconds,
/// or shares out oversubscribed cores anew every few milliseconds, and times tell of that.
/// Collective; gives the most ranks that share a core: 0 where nothing was done, as the launcher
/// has chosen cores, or there are several hosts.
int pin_ranks(World& world);

/// What a reader of times is told of it; nothing to tell: empty.
std::string in_words_of_pinning(int ranks_on_core);

}  // namespace tutti
