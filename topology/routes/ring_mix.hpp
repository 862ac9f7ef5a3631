// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/routes/ring_search.hpp"

namespace tutti {

/// Rings over the members of one host with individual rates, with the highest total rate of all
/// sets of rings over the allowed legs.
struct RingMix {
    struct Share {
        HostChannel ring;
        double bandwidth_GBps = 0;
    };
    std::vector<Share> shares;

    /// Upper bound of the total rate of any set of rings, by duality: prices of the edges at which
    /// the cheapest ring costs 1 prove it.
    double bound_GBps = 0;
};

/// Finds the best mix for the capacity that the channels `laid` (of task.bandwidth_GBps each)
/// leave, by the simplex method with column generation: the next ring is the cheapest at the
/// current prices. None for rings at ports, for fewer than 3 or more than 10 members, and when
/// `work` is used up. `work` counts steps down instead of time, so that the same machine always
/// gets the same rings.
std::optional<RingMix> best_mix(const HostRoutes& routes, const PackingTask& task,
                                const std::vector<HostChannel>& laid, std::int64_t& work);

/// Converts the mix to channels of task.bandwidth_GBps each: as many of each ring as fit in its
/// share, then the same with the best mix for the remaining capacity, and so on. Returns fewer than
/// `wanted` as soon as it is clear that there are not enough.
std::vector<HostChannel> in_channels(const HostRoutes& routes, const PackingTask& task, RingMix mix,
                                     int wanted, std::int64_t& work);

}  // namespace tutti
