// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// One ring over all members of all hosts: one part for each host.
using RingChannel = std::vector<HostChannel>;

/// Rings that run at the same time with equal shares of the message, and their predicted bandwidth.
/// The rate of a ring is the bus bandwidth of an all-reduce over it.
struct RingSet {
    std::vector<RingChannel> channels;
    double bandwidth_GBps_per_channel = 0;  ///< 10^9 bytes per second
    double bandwidth_GBps = 0;              ///< of all channels together
    double hops = 0;                        ///< edges of one round, mean over the channels
    PathType inside = PathType::loc;        ///< the worst leg between members of a host
    PathType to_port = PathType::loc;       ///< the worst leg between a member and a NIC port
    std::set<EdgeKind> kinds;               ///< kinds of edges between members of a host
    std::string limit;                      ///< the limiting edge; empty if nothing is carried
};

/// Rings that fit the machine (`found`) and rings in the order of device numbers (`naive`).
struct RingPlan {
    std::vector<HostRoutes> hosts;
    int hosts_of_fabric =
        1;  ///< if more, `hosts` is one entry for all of them, see shared_fabric()
    RingSet found;
    RingSet naive;
};

/// Finds the rings with the most predicted bandwidth, then with the nearest legs, the fewest hops
/// and the fewest channels. Hosts of one NVLink fabric are searched as one, and over NICs if not
/// all GPUs have NVLinks. They use only NVLink or xGMI if possible, unless worse links gain a
/// fifth. On several hosts each channel enters and leaves by NIC ports, which are shared evenly.
/// Returns the naive order if nothing better is found. Throws Error if one of several hosts has no
/// NIC.
RingPlan plan_rings(const Machine& machine);

/// Returns a machine of `hosts` copies of the host.
Machine copies_of(const Host& host, int hosts);

/// Adds `links_per_gpu` NVLinks from each GPU to NVSwitches, for descriptions that leave them to
/// the driver, as most files for NCCL_TOPO_FILE do. Throws Error if the host has links.
Host with_nvswitches(Host host, int links_per_gpu);

/// Returns the members of each channel in order, numbered from 0 host by host.
std::vector<std::vector<int>> members_of(const RingPlan& plan, const RingSet& rings);

// Print the plan as a table with its rings, as JSON, and as an order file (one channel per line).
std::string print_rings(const RingPlan& plan);
std::string rings_to_json(const RingPlan& plan);
std::string print_order(const RingPlan& plan);

}  // namespace tutti
