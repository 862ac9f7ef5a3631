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

/// The least time of a message of this size in one direction.
struct MessageTime {
    std::int64_t bytes = 0;
    double ns = 0;
};

/// Model of a link: time = latency + (bytes - burst) / bandwidth, but at least the latency.
struct LinkFit {
    double latency_ns = 0;
    double gbps = 0;
    std::int64_t burst = 0;  ///< bytes that pass at once if something limits the rate
    double residual = 0;     ///< median of |measured - line| / measured, of large messages
};

/// Fits a line to times in ascending order of size. The bandwidth is the median slope of all pairs
/// of large messages (Theil-Sen; 256 KiB and more, or 64 KiB, or all if there are fewer than two),
/// but at most what some message has reached. Single sizes may be wrong, such as one where the
/// library changes its protocol, and least squares would let the largest message decide. The
/// latency is the time of the smallest message. A token bucket (a virtual machine's interface, a
/// shaper) lets bursts pass, so large messages are faster by that many bytes than latency and slope
/// predict.
LinkFit fit_link(std::span<const MessageTime> times);

/// Returns pairs of hosts, in rounds of pairs without a common host: all pairs of up to 8 hosts; of
/// more, those whose numbers differ in one bit, so that each host is in a pair and there are few
/// rounds.
std::vector<std::vector<std::pair<int, int>>> rounds_of_pairs(int hosts);

/// Returns the names of the hosts in their order. Collective; the same on all ranks.
std::vector<std::string> names_of_hosts(World& world, const Placement& hosts);
inline std::vector<std::string> names_of_hosts(World& world) {
    return names_of_hosts(world, world.hosts());
}

/// Measures the network between the hosts of these ranks for about `seconds`. The leaders of hosts
/// (their first ranks) send messages to each other over the transport of plain messages while all
/// other ranks sleep; then all ranks of all hosts send at once. Collective; the same result on all
/// ranks. `hosts` are the hosts of the world except in tests; at least two.
HostNetwork measure_network(World& world, const Placement& hosts, double seconds);

}  // namespace tutti
