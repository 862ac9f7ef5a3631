// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// One ring over all members of all hosts: the first host's part, then the next one's.
using RingChannel = std::vector<HostChannel>;

/// Rings that run at once, each with an equal share of the message, and what that is predicted to
/// give. A ring's rate is the bus bandwidth of an all-reduce over it, so the sum is that of all.
struct RingSet {
    std::vector<RingChannel> channels;
    double bandwidth_GBps_per_channel = 0;  ///< 10^9 bytes per second
    double bandwidth_GBps = 0;              ///< of all channels together
    double hops = 0;                        ///< edges that one lap passes, mean over the channels
    PathType inside = PathType::loc;        ///< the worst leg between members of a host
    PathType to_port = PathType::loc;       ///< the worst leg between a member and a NIC port
    std::set<EdgeKind> kinds;               ///< of edges passed between members of a host
    std::string limit;                      ///< the edge that is full; empty if nothing is carried
};

/// Rings ordered from the machine, next to the order in which devices are numbered.
struct RingPlan {
    std::vector<HostRoutes> hosts;
    RingSet found;
    RingSet naive;
};

/// The rings with the most predicted bandwidth; of those the ones with the nearest legs, the fewest
/// hops and the fewest channels. They stay on NVLink or xGMI where such rings exist, unless worse
/// links give a fifth more. On several hosts each channel has a NIC port in and one out, shared as
/// evenly as they go. Never below the naive order: where nothing better is found, it is that one.
/// Throws Error if there are several hosts and one of them has no NIC.
RingPlan plan_rings(const Machine& machine);

/// A machine of `hosts` hosts like this one.
Machine copies_of(const Host& host, int hosts);

/// The same host, but each GPU has so many NVLinks to NVSwitches: for descriptions that leave these
/// to the driver, as most files made for NCCL_TOPO_FILE do. Throws Error where links are known.
Host with_nvswitches(Host host, int links_per_gpu);

/// Where its members are numbered host by host, from 0: the members of each channel in order.
std::vector<std::vector<int>> members_of(const RingPlan& plan, const RingSet& rings);

/// The plan as a table, then the rings; for programs; and as an order file (one channel per line).
std::string print_rings(const RingPlan& plan);
std::string rings_to_json(const RingPlan& plan);
std::string print_order(const RingPlan& plan);

}  // namespace tutti
