// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "topology/routes/ring_load.hpp"

namespace tutti {

/// One tree over all members: a chain within each host, and a binary tree of the chains' heads
/// between hosts.
struct MemberTree {
    std::vector<std::vector<int>> chains;    ///< for each host, head first; members counted from 0
    std::vector<std::optional<int>> port;    ///< for each host, the NIC port (stop) of its head
    std::vector<std::optional<int>> parent;  ///< for each host; none for the root
    int hops = 0;                            ///< edges within the hosts
};

/// A pair of trees that run at the same time, each with half of the message.
struct TreePlan {
    std::vector<MemberTree> trees;
    double bandwidth_GBps = 0;  ///< message size / time, 10^9 bytes per second
    std::string limit;          ///< the limiting edge; empty if nothing is carried
};

/// Returns the parent of each host in a balanced binary tree over them in order, with root 0 and at
/// most two children each (Sanders, Speck, Traff 2009, numbered as in NCCL).
std::vector<std::optional<int>> binary_tree(int hosts);

/// Returns the complementary tree, in which inner hosts of the first tree are leaves or nearly so:
/// mirrored for an even number of hosts, shifted by one for an odd number.
std::vector<std::optional<int>> other_binary_tree(int hosts);

/// Plans chains with the fewest hops (then the fastest links) from the members nearest to a NIC
/// port, at different ports for the two trees if possible, and a double binary tree between hosts.
/// `network` limits the bandwidth between the hosts that it lists.
TreePlan plan_trees(const std::vector<HostRoutes>& hosts,
                    const std::vector<NetworkLink>& network = {});

std::string print_trees(const std::vector<HostRoutes>& hosts, const TreePlan& plan);

}  // namespace tutti
