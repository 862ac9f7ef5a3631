// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>

#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "topology/placement/order.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// Returns one hardware thread of each core that this rank may use, by the operating system's
/// numbers.
std::vector<int> cpus_of_cores();

/// Returns how many earlier ranks may use exactly these CPUs. Whether the launcher has bound ranks
/// or not, cpus[place] is then a CPU for this rank only, if there are enough. Collective.
int place_among_equals(World& world, const std::vector<int>& cpus);

/// Runs this thread on one CPU; does nothing if that is not allowed.
void run_on(int cpu);

/// Stores the CPUs that this thread may run on.
class FormerCpus {
public:
    FormerCpus() { sched_getaffinity(0, sizeof cpus_, &cpus_); }
    /// Allows them again.
    void restore() const { sched_setaffinity(0, sizeof cpus_, &cpus_); }

private:
    cpu_set_t cpus_{};
};

/// Pins each rank to its own core or, with more ranks than cores, the same number of neighbouring
/// ranks to each core. Without pinning the system may leave two spinning ranks on one core for
/// seconds, or move ranks every few milliseconds, which disturbs times. Collective; returns the
/// largest number of ranks on a core; 0 if nothing was done, because the launcher has bound the
/// ranks or there are several hosts.
int pin_ranks(World& world);

/// Returns a note for readers of the times; empty if nothing was done.
std::string describe_pinning(int ranks_on_core);

/// Returns where every rank may run now. Collective; the same on all ranks.
std::vector<RankBinding> sites_of_ranks(World& world);

/// Returns the order for a value of --order-by: naive, topology or a file. Collective; only rank 0
/// reads the file. Throws Error with a correction.
Order order_called(const std::string& name, World& world, const std::vector<RankBinding>& sites);

}  // namespace tutti
