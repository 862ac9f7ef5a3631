// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// One tree over all members, numbered host by host: inside each host a chain that its head leads,
/// between hosts a binary tree of the heads.
struct MemberTree {
    std::vector<std::vector<int>> chains;    ///< of each host, head first; its own members from 0
    std::vector<std::optional<int>> port;    ///< of each host, the NIC port (stop) of its head
    std::vector<std::optional<int>> parent;  ///< of each host; none for the root
    int hops = 0;                            ///< edges passed inside the hosts
};

/// A pair of trees that run at once, each with half of the message.
struct TreePlan {
    std::vector<MemberTree> trees;
    double bandwidth_GBps =
        0;              ///< of the message, reduced up and spread down, 10^9 bytes per second
    std::string limit;  ///< the edge that is full; empty if nothing is carried
};

/// The parent of each of `hosts` places in a balanced binary tree over them in order, root 0; no
/// more than two children each (Sanders, Speck, Traff 2009, as NCCL numbers it).
std::vector<std::optional<int>> binary_tree(int hosts);

/// The same tree for other places, so that a host that has children here is a leaf there or nearly
/// so: mirrored for an even number of hosts, shifted by one for an odd number.
std::vector<std::optional<int>> other_binary_tree(int hosts);

/// Chains of the fewest hops (then of the widest links) from the members nearest to a NIC port, the
/// two trees' at different ports where there are two; double binary tree between hosts. `network`
/// limits what the hosts exchange where it knows of that.
TreePlan plan_trees(const std::vector<HostRoutes>& hosts,
                    const std::vector<NetworkLink>& network = {});

std::string print_trees(const std::vector<HostRoutes>& hosts, const TreePlan& plan);

}  // namespace tutti
