// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "results/records/health.hpp"
#include "topology/meters/host_counters.hpp"

namespace tutti {

/// What a rank knows of itself.
struct RankLook {
    int rank = 0;
    int cpu = 0;                   ///< that it runs on
    CpuClock clock;                ///< of that CPU; all 0: unknown
    std::int64_t preemptions = 0;  ///< how often it lost its core with something to do

    bool operator==(const RankLook&) const = default;
};

/// What can be seen of a host at one moment.
struct HostLook {
    std::int64_t at_ns = 0;
    std::vector<RankLook> ranks;  ///< of this host
    HostCounters counters;
    std::vector<GpuCondition> gpus;
};

/// How a host does: of what holds at that moment.
HostHealth health_at(const HostLook& look);

/// Of what happened between two looks at one host, and what holds at the second one. Where its
/// ranks share cores they wait for each other, and that tells nothing of others. Counters that were
/// reset or ran backwards tell nothing either.
enum class Cores { shared, one_each };
HostHealth health_between(const HostLook& before, const HostLook& after, Cores cores);

}  // namespace tutti
