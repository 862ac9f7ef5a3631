// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// The worst legs that a search may take: between members, and between a member and a port.
struct LegLimits {
    PathType inside = PathType::sys;
    PathType to_port = PathType::sys;
};

enum class RingEnds { closed, at_ports };

/// What to look for: channels of `bandwidth_GBps` each, which together overload no edge.
struct PackingTask {
    double bandwidth_GBps = 0;
    LegLimits limits = {};
    RingEnds ends = RingEnds::closed;
};

/// More than that many channels help nobody: each costs a thread block or a thread.
constexpr int most_rings = 32;

/// Capacities are sums of decimal fractions: so much more than they say counts as what they say.
constexpr double rounding = 1e-6;

/// Whether the task may use the leg between two stops at all.
bool is_allowed(const HostRoutes& routes, const PackingTask& task, int from, int to);

/// As many channels as any choice could fit in, counted at each member alone.
int most_channels_of(const HostRoutes& routes, const PackingTask& task);

/// The most channels found by depth-first search: link by link, near neighbours first, and going
/// back where a ring does not close. First with rings in both directions at once, then one by one,
/// some times with the neighbours shuffled. It ends after `steps` steps, which it counts down, and
/// not after some time, so that the same machine always gives the same rings.
std::vector<HostChannel> pack_channels(const HostRoutes& routes, const PackingTask& task,
                                       int& steps);

/// The rates worth trying, descending: what the edges on allowed legs carry, whole or shared by a
/// few channels.
std::vector<double> rates_to_try(const HostRoutes& routes, const PackingTask& task);

}  // namespace tutti
