// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/trees.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/index.hpp"

namespace tutti {
namespace {

// Cost of a chain: its hops, plus less than one hop for slow links.
double cost_of(const HostRoutes& host, int from, int to) {
    const Leg& leg = host.leg(from, to);
    if (leg.type == PathType::dis) return 1e6;
    double narrowest = local_GBps;
    for (const Charge& charge : leg.charges)
        narrowest = std::min(narrowest, host.capacity(charge.edge) / charge.weight);
    return leg.hops + 1 / (1 + narrowest);
}

double cost_of(const HostRoutes& host, const std::vector<int>& chain) {
    double cost = 0;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i)
        cost += cost_of(host, chain[i], chain[i + 1]);
    return cost;
}

// Builds a chain by nearest neighbours, then reverses or moves parts while that helps. This is
// exact enough, as hosts have few different distances.
std::vector<int> short_chain(const HostRoutes& host, int head) {
    std::vector<int> chain{head};
    while (int_size(chain) < host.members()) {
        int nearest = -1;
        for (int next = 0; next < host.members(); ++next)
            if (std::ranges::find(chain, next) == chain.end() &&
                (nearest < 0 ||
                 cost_of(host, chain.back(), next) < cost_of(host, chain.back(), nearest)))
                nearest = next;
        chain.push_back(nearest);
    }
    for (bool improved = true; improved;) {
        improved = false;
        for (std::size_t i = 1; i < chain.size(); ++i)
            for (std::size_t j = i + 1; j <= chain.size(); ++j)
                for (const bool reverses : {true, false}) {
                    std::vector<int> other = chain;
                    const auto at = [&](std::size_t k) {
                        return other.begin() + static_cast<std::ptrdiff_t>(k);
                    };
                    if (reverses)
                        std::reverse(at(i), at(j));
                    else
                        std::rotate(at(i), at(i) + 1, at(j));
                    if (cost_of(host, other) + 1e-9 >= cost_of(host, chain)) continue;
                    chain = other;
                    improved = true;
                }
    }
    return chain;
}

struct Head {
    int member = 0;
    std::optional<int> port;
};

// Returns the `tree_number`th of the ports nearest to any member, with that member.
Head head_of(const HostRoutes& host, std::size_t tree_number) {
    std::vector<std::tuple<PathType, int, int, int>> candidates;
    for (int port = host.members(); port < host.members() + host.ports(); ++port)
        for (int member = 0; member < host.members(); ++member) {
            const Leg& leg = host.leg(member, port);
            candidates.emplace_back(leg.type, leg.hops, port, member);
        }
    if (candidates.empty()) return {};
    std::ranges::sort(candidates);
    std::vector<Head> heads;
    for (const auto& [type, hops, port, member] : candidates)
        if (std::ranges::find(heads, port, &Head::port) == heads.end())
            heads.push_back({member, port});
    return heads[tree_number % heads.size()];
}

MemberTree tree_over(const std::vector<HostRoutes>& hosts, std::size_t tree_number) {
    const int number = int_size(hosts);
    MemberTree tree;
    tree.parent = tree_number == 0 ? binary_tree(number) : other_binary_tree(number);
    for (const HostRoutes& host : hosts) {
        const Head head = number > 1 ? head_of(host, tree_number) : Head{};
        tree.port.push_back(head.port);
        tree.chains.push_back(short_chain(host, head.member));
        const auto& chain = tree.chains.back();
        for (std::size_t i = 0; i + 1 < chain.size(); ++i)
            tree.hops += host.leg(chain[i], chain[i + 1]).hops;
    }
    return tree;
}

void charge(std::vector<double>& load, const Leg& leg, double times) {
    for (const Charge& c : leg.charges) at(load, c.edge) += c.weight * times;
}

// Adds the load of a tree, which uses each of its links once upwards and once downwards.
void charge_host(std::vector<double>& load, const HostRoutes& host, const MemberTree& tree,
                 std::size_t h) {
    const auto& chain = tree.chains[h];
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        charge(load, host.leg(chain[i], chain[i + 1]), 1);
        charge(load, host.leg(chain[i + 1], chain[i]), 1);
    }
    if (!tree.port[h]) return;
    const auto neighbours = std::ranges::count(tree.parent, std::optional(static_cast<int>(h))) +
                            (tree.parent[h] ? 1 : 0);
    charge(load, host.leg(chain.front(), *tree.port[h]), static_cast<double>(neighbours));
    charge(load, host.leg(*tree.port[h], chain.front()), static_cast<double>(neighbours));
}

// Counts how often the trees send from one host to another: each uses every edge between a host and
// its parent in both directions.
double uses_of(const std::vector<MemberTree>& trees, int from, int to) {
    double uses = 0;
    for (const MemberTree& tree : trees) {
        const auto& parent = tree.parent;
        if (std::max(from, to) >= int_size(parent)) continue;
        if (at(parent, from) == to) ++uses;
        if (at(parent, to) == from) ++uses;
    }
    return uses;
}

}  // namespace

std::vector<std::optional<int>> binary_tree(int hosts) {
    std::vector<std::optional<int>> parent;
    for (int host = 0; host < hosts; ++host) {
        if (host == 0) {
            parent.emplace_back();
            continue;
        }
        const int bit = host & -host;  // the height: leaves are odd
        const int up = (host ^ bit) | (bit << 1);
        parent.emplace_back(up < hosts ? up : host ^ bit);
    }
    return parent;
}

std::vector<std::optional<int>> other_binary_tree(int hosts) {
    const auto other = [&](int host) {
        return hosts % 2 == 0 ? hosts - 1 - host : (host + 1) % hosts;
    };
    const auto tree = binary_tree(hosts);
    std::vector<std::optional<int>> parent(tree.size());
    for (int host = 0; host < hosts; ++host)
        if (const auto up = at(tree, host)) at(parent, other(host)) = other(*up);
    return parent;
}

TreePlan plan_trees(const std::vector<HostRoutes>& hosts, const std::vector<NetworkLink>& network) {
    TreePlan plan;
    for (std::size_t tree_number = 0; tree_number < (hosts.size() > 1 ? 2u : 1u); ++tree_number)
        plan.trees.push_back(tree_over(hosts, tree_number));
    double slowest = std::numeric_limits<double>::infinity();
    for (std::size_t h = 0; h < hosts.size(); ++h) {
        std::vector<double> load(hosts[h].graph().edges.size());
        for (const MemberTree& tree : plan.trees) charge_host(load, hosts[h], tree, h);
        for (std::size_t e = 0; e < load.size(); ++e) {
            const double bandwidth_GBps = hosts[h].capacity(static_cast<int>(e)) / load[e];
            if (load[e] <= 0 || bandwidth_GBps >= slowest) continue;
            slowest = bandwidth_GBps;
            plan.limit = hosts[h].graph().describe(static_cast<int>(e));
        }
    }
    for (const NetworkLink& link : network) {
        const double used = uses_of(plan.trees, link.from, link.to);
        if (used == 0 || link.bandwidth_GBps <= 0 || link.bandwidth_GBps / used >= slowest)
            continue;
        slowest = link.bandwidth_GBps / used;
        plan.limit = fmt::format("network from host {} to host {}", link.from, link.to);
    }
    if (!plan.limit.empty()) plan.bandwidth_GBps = slowest * static_cast<double>(plan.trees.size());
    return plan;
}

std::string print_trees(const std::vector<HostRoutes>& hosts, const TreePlan& plan) {
    std::string page = fmt::format("trees: predicted {:.2f} GB/s (algbw){}\n", plan.bandwidth_GBps,
                                   plan.limit.empty() ? "" : ", limited by " + plan.limit);
    for (std::size_t t = 0; t < plan.trees.size(); ++t) {
        const MemberTree& tree = plan.trees[t];
        for (std::size_t h = 0; h < hosts.size(); ++h) {
            std::string head;
            if (hosts.size() > 1)
                head = fmt::format(
                    "host {} {} by {}: ", h,
                    tree.parent[h] ? fmt::format("under host {}", *tree.parent[h]) : "root",
                    tree.port[h] ? hosts[h].name(*tree.port[h]) : "-");
            page += fmt::format("{:>3}: {}{}\n", t, head, fmt::join(tree.chains[h], " "));
        }
    }
    return page;
}

}  // namespace tutti
