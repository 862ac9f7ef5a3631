// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "topology/routes/paths.hpp"

namespace tutti {

/// What a transfer takes from one direction of a link: `weight` bytes for each of its own.
struct Charge {
    int edge = 0;
    double weight = 1;
};

/// The path from one stop to the next, with all that it takes of the links.
struct Leg {
    PathType type = PathType::dis;
    int hops = 0;
    std::vector<Charge> charges;
};

/// A host as rings see it: stops and the legs between them. The members of a ring are the GPUs; on
/// a host without GPUs, its NUMA nodes.
class HostRoutes {
public:
    /// Of the NIC ports only those of at least half the speed of the fastest are kept, so that the
    /// port for management does not take part; those of unknown speed (down, perhaps) only where
    /// no speed is known.
    explicit HostRoutes(const Host& host);

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
    /// The ports kept though nothing is known of their speed.
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

/// The part of a ring that lies on one host: its members in order. Without ports the last passes on
/// to the first; with ports (stops) it comes in by one and goes out by the other.
struct HostChannel {
    std::vector<int> members;
    std::optional<int> port_in = {};
    std::optional<int> port_out = {};
    bool operator==(const HostChannel&) const = default;
};

/// The same way back.
HostChannel reversed(const HostChannel& channel);

/// The legs of a channel, in order.
std::vector<const Leg*> legs_of(const HostRoutes& routes, const HostChannel& channel);

/// What each edge carries when every channel carries one byte.
std::vector<double> load_of(const HostRoutes& routes, const std::vector<HostChannel>& channels);

/// How fast each channel runs when all run at once at one rate: the least capacity / load, and the
/// edge where that is. No edge where nothing is carried.
struct ChannelRate {
    double bandwidth_GBps = 0;
    std::optional<int> limit;
};
ChannelRate rate_of(const HostRoutes& routes, const std::vector<HostChannel>& channels);

}  // namespace tutti
