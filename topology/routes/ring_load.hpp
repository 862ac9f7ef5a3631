// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "topology/routes/paths.hpp"

namespace tutti {

/// The use of one edge by a transfer: `weight` bytes for each byte transferred.
struct Charge {
    int edge = 0;
    double weight = 1;
};

/// The path from one stop to the next, with its use of edges.
struct Leg {
    PathType type = PathType::dis;
    int hops = 0;
    std::vector<Charge> charges;
};

/// The stops of rings on a host and the legs between them. Stops are the members of rings (GPUs, or
/// NUMA nodes on a host without GPUs) and NIC ports.
class HostRoutes {
public:
    /// Uses only NIC ports with at least half the speed of the fastest, which excludes management
    /// ports; ports of unknown speed (which may be down) only if no speed is known.
    explicit HostRoutes(HostGraph graph);
    explicit HostRoutes(const Host& host) : HostRoutes(graph_of(host)) {}

    const HostGraph& graph() const { return graph_; }
    int members() const { return members_; }
    int ports() const { return stops() - members_; }
    int stops() const { return int_size(stops_); }
    bool has_gpus() const { return !graph_.gpus.empty(); }

    /// Stops are the members from 0, then the ports from members().
    const Leg& leg(int from, int to) const {
        return legs_[as_size(from) * stops_.size() + as_size(to)];
    }
    const std::string& name(int stop) const;
    /// Returns the ports in use whose speed is unknown.
    const std::vector<std::string>& ports_of_assumed_speed() const { return assumed_; }
    double capacity(int edge) const { return at(graph_.edges, edge).bandwidth_GBps; }

private:
    Leg leg_along(const Path& path, int from) const;

    HostGraph graph_;
    int members_ = 0;
    std::vector<int> stops_;  // nodes
    std::vector<Leg> legs_;
    std::vector<std::string> assumed_;
};

/// The part of a ring on one host: its members in order. Without ports the ring closes from the
/// last member to the first; with ports (stops) it enters by one and leaves by the other.
struct HostChannel {
    std::vector<int> members;
    std::optional<int> port_in = {};
    std::optional<int> port_out = {};
    bool operator==(const HostChannel&) const = default;
};

/// Returns the channel in the opposite direction.
HostChannel reversed(const HostChannel& channel);

/// Returns the legs of a channel, in order.
std::vector<const Leg*> legs_of(const HostRoutes& routes, const HostChannel& channel);

/// Returns the load of each edge if every channel carries one byte.
std::vector<double> load_of(const HostRoutes& routes, const std::vector<HostChannel>& channels);

/// The rate of each channel if all run at once with equal rates: the minimum of capacity / load,
/// and the edge that limits it (none if nothing is carried).
struct ChannelRate {
    double bandwidth_GBps = 0;
    std::optional<int> limit;
};
ChannelRate rate_of(const HostRoutes& routes, const std::vector<HostChannel>& channels);

}  // namespace tutti
