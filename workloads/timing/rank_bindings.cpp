// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/rank_bindings.hpp"

#include "topology/detect/detect.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {

std::vector<RankBinding> sites_of_ranks(World& world) {
    auto sites = gather_all(world, site_of(detect_structure(), host_facts().usable_cpus));
    const Grouping& hosts = world.hosts().nodes();
    for (std::size_t host = 0; host < hosts.size(); ++host)
        for (const Rank rank : hosts[host])
            sites[static_cast<std::size_t>(rank.index)].host = static_cast<int>(host);
    return sites;
}

Placement placement_of(const std::vector<RankBinding>& sites) {
    std::vector<int> hosts, numa_nodes;
    for (const RankBinding& site : sites) {
        hosts.push_back(site.host);
        numa_nodes.push_back(site.numa_node);
    }
    return Placement::by_labels(hosts, numa_nodes);
}

namespace {

// Other hosts may not have the file.
Order order_of_first(World& world, const std::string& file) {
    Order order;
    if (world.is_first()) order = read_order(file, world.size());
    order.channels.resize(from_rank0(world, order.channels.size()));
    for (auto& channel : order.channels) {
        channel.resize(static_cast<std::size_t>(world.size()));
        world.broadcast(std::as_writable_bytes(std::span(channel)));
    }
    return order;
}

}  // namespace

Order order_called(const std::string& name, World& world, const std::vector<RankBinding>& sites) {
    if (name.empty() || name == "naive") return {};
    if (name == "topology") return order_by_topology(sites);
    return order_of_first(world, name);
}

}  // namespace tutti
