// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/records/limits.hpp"

namespace tutti {

/// The least time that a message of so many bytes took in one direction.
struct MessageTime {
    std::int64_t bytes = 0;
    double ns = 0;
};

/// time = latency + (bytes - burst) / bandwidth, but no less than the latency.
struct LinkFit {
    double latency_ns = 0;
    double gbps = 0;
    std::int64_t burst = 0;  ///< bytes that pass at once where something limits the rate
    double residual = 0;     ///< median of |measured - line| / measured, of large messages
};

/// A line through times in ascending order of size. The bandwidth is the median slope of all pairs
/// of large messages (Theil-Sen, 256 KiB and more, or 64 KiB, or all if there are fewer than two),
/// as single sizes may be wrong, such as one at which the library changes its protocol, and least
/// squares would let the largest message decide; but never more than some message has reached. The
/// latency is the time of the smallest message. A token bucket (a virtual machine's interface, a
/// shaper) lets bursts pass: by that many bytes large messages are faster than latency and slope
/// say.
LinkFit fit_link(std::span<const MessageTime> times);

/// Pairs of hosts, in rounds of pairs without a common host: all pairs of up to 8 hosts; of more,
/// those whose numbers differ in one bit, so that each host is in a pair and rounds stay few.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts);

/// The names of the hosts, in their order. Collective; the same on all ranks.
std::vector<std::string> names_of_hosts(World& world, const Placement& hosts);
inline std::vector<std::string> names_of_hosts(World& world) {
    return names_of_hosts(world, world.hosts());
}

/// What the network between the hosts of these ranks can do at its best, in about so many seconds:
/// the leaders of hosts (their first ranks) send messages to each other over the transport of plain
/// messages while all others sleep; then all ranks of all hosts send at once. Collective; the same
/// result on all ranks. `hosts` are those of the world but for tests; at least two.
HostNetwork measure_network(World& world, const Placement& hosts, double seconds);

}  // namespace tutti
