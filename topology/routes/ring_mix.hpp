// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/routes/ring_search.hpp"

namespace tutti {

/// Rings over the members of one host, each at a rate of its own: together the most that any rings
/// over the allowed legs can give.
struct RingMix {
    struct Share {
        HostChannel ring;
        double bandwidth_GBps = 0;
    };
    std::vector<Share> shares;

    /// What no rings exceed, whatever their number and rates. Prices of the edges prove it, at
    /// which the cheapest ring costs 1 (duality of linear programs).
    double bound_GBps = 0;
};

/// Made beside what `laid` leaves, channels of task.bandwidth_GBps each, by the simplex method; the
/// rings are not listed for it, as the one that is worth most is the cheapest at the present
/// prices. None for rings at ports, of fewer than 3 or more than 10 members, and where `work` is
/// used up, which is counted down in steps, so that the same machine always has the same rings.
std::optional<RingMix> best_mix(const HostRoutes& routes, const PackingTask& task,
                                const std::vector<HostChannel>& laid, std::int64_t& work);

/// The mix in channels of task.bandwidth_GBps each: of each ring as many as its share holds, then
/// those of the best mix in what is left, and so on. Fewer than `wanted` where it sees that there
/// will not be as many.
std::vector<HostChannel> in_channels(const HostRoutes& routes, const PackingTask& task, RingMix mix,
                                     int wanted, std::int64_t& work);

}  // namespace tutti
