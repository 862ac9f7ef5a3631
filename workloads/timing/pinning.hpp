// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "topology/placement/order.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// One hardware thread of each core that this rank may use, by the operating system's numbers.
std::vector<int> cpus_of_cores();

/// How many ranks before this one may use exactly these CPUs. Whether the launcher has bound ranks
/// or not, cpus[place] is then a CPU of this rank's own, if there are enough. Collective.
int place_among_equals(World& world, const std::vector<int>& cpus);

/// Runs this thread on one CPU; nothing happens where that is not allowed.
void run_on(int cpu);

/// The CPUs that this thread might run on when this was made.
class FormerCpus {
public:
    FormerCpus() { sched_getaffinity(0, sizeof cpus_, &cpus_); }
    /// It may run on them again.
    void restore() const { sched_setaffinity(0, sizeof cpus_, &cpus_); }

private:
    cpu_set_t cpus_{};
};

/// Gives each rank a core of its own, or, where there are more ranks than cores, each core as many
/// neighbouring ranks as the others. Without it the system may leave two spinning ranks on one core
/// for seconds, or move ranks between cores every few milliseconds, and times show that.
/// Collective; returns how many ranks share a core at most; 0 where nothing was done, as the
/// launcher has bound the ranks or there are several hosts.
int pin_ranks(World& world);

/// A note for readers of the times; empty where nothing was done.
std::string in_words_of_pinning(int ranks_on_core);

/// Where every rank runs, by what it may run on now. Collective; the same on all ranks.
std::vector<RankBinding> sites_of_ranks(World& world);

/// Nodes are the hosts, islands their NUMA nodes; ranks that may run on several of these share one
/// island of their host.
Placement placement_of(const std::vector<RankBinding>& sites);

/// What --order-by calls naive, topology or a file. Collective; rank 0 alone reads the file. Throws
/// Error with what to type instead.
Order order_called(const std::string& name, World& world, const std::vector<RankBinding>& sites);

}  // namespace tutti
