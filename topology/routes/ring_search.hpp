// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// The worst legs that a search may use: between members, and between a member and a port.
struct LegLimits {
    PathType inside = PathType::sys;
    PathType to_port = PathType::sys;
};

enum class RingEnds { closed, at_ports };

/// A search for channels of `bandwidth_GBps` each that together overload no edge.
struct PackingTask {
    double bandwidth_GBps = 0;
    LegLimits limits = {};
    RingEnds ends = RingEnds::closed;
};

/// Limit for channels: each costs a thread block or a thread.
constexpr int most_rings = 32;

/// Tolerance for capacities, which are sums of decimal fractions.
constexpr double rounding = 1e-6;

/// Whether the task may use the leg between two stops.
bool is_allowed(const HostRoutes& routes, const PackingTask& task, int from, int to);

/// Returns an upper bound of the number of channels, from each member alone.
int most_channels_of(const HostRoutes& routes, const PackingTask& task);

/// Returns the most channels that a depth-first search finds: near neighbours first, with
/// backtracking if a ring does not close; with rings in both directions at once, then one by one,
/// and several times with shuffled neighbours. Counts `steps` down instead of time, so that the
/// same machine always gets the same rings.
std::vector<HostChannel> pack_channels(const HostRoutes& routes, const PackingTask& task,
                                       int& steps);

/// Returns the rates to try, descending: capacities of edges on allowed legs, divided by 1 to 8.
std::vector<double> rates_to_try(const HostRoutes& routes, const PackingTask& task);

}  // namespace tutti
