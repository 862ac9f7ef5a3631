// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/index.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/routes/rings.hpp"

namespace tutti {
namespace {

std::string describe(const HostRoutes& routes) {
    const HostGraph& graph = routes.graph();
    return fmt::format("{}, {}, {}", counted(graph.gpus.size(), "GPU"),
                       counted(graph.ports.size(), "NIC port"),
                       counted(graph.cpus.size(), "NUMA node"));
}

// Describes equal hosts together.
std::string describe(const RingPlan& plan) {
    std::map<std::string, std::size_t> hosts;
    for (const HostRoutes& host : plan.hosts) ++hosts[describe(host)];
    std::vector<std::string> parts;
    for (const auto& [what, number] : hosts)
        parts.push_back(plan.hosts_of_fabric > 1
                            ? fmt::format("{} hosts of one NVLink fabric, together {}",
                                          plan.hosts_of_fabric, what)
                            : fmt::format("{}{} of {}", counted(number, "host"),
                                          number > 1 ? ", each" : "", what));
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> kinds_of(const RingSet& rings) {
    std::vector<std::string> kinds;
    for (const EdgeKind kind : rings.kinds) kinds.push_back(short_name(kind));
    return kinds;
}

std::string row(const std::string& name, const RingSet& rings) {
    const bool over_ports = rings.channels.front().front().port_in.has_value();
    return fmt::format(
        "{:<7}{:>8}{:>12.2f}{:>14.2f}{:>9.1f}  {:<7}{:<8}{:<21}{}\n", name, rings.channels.size(),
        rings.bandwidth_GBps_per_channel, rings.bandwidth_GBps, rings.hops,
        rings.kinds.empty() ? "-" : short_name(rings.inside),
        over_ports ? short_name(rings.to_port) : "-",
        rings.kinds.empty() ? "-" : fmt::format("{}", fmt::join(kinds_of(rings), ", ")),
        rings.limit.empty() ? "-" : rings.limit);
}

std::string order_text(const RingPlan& plan, const RingChannel& channel) {
    std::vector<std::string> parts;
    for (std::size_t h = 0; h < channel.size(); ++h) {
        const HostChannel& part = channel[h];
        const auto port = [&](const std::optional<int>& stop) {
            return stop ? plan.hosts[h].name(*stop) : "";
        };
        parts.push_back(fmt::format("{}{}{}{}{}", port(part.port_in), part.port_in ? " > " : "",
                                    fmt::join(part.members, " "), part.port_out ? " > " : "",
                                    port(part.port_out)));
    }
    return fmt::format("{}", fmt::join(parts, "  |  "));
}

// Returns notes on the assumptions of the figures.
std::string remarks(const RingPlan& plan) {
    std::string text;
    const HostGraph& graph = plan.hosts.front().graph();
    const bool has_direct_links = std::ranges::any_of(graph.edges, [](const GraphEdge& edge) {
        return edge.kind == EdgeKind::nvlink || edge.kind == EdgeKind::xgmi;
    });
    if (graph.gpus.empty())
        text += "no GPU: the rings connect NUMA nodes\n";
    else if (graph.gpus.size() > 1 && !has_direct_links)
        text +=
            "no NVLink or xGMI is known, so the rings use PCIe; use --nvlinks N if each GPU has N "
            "NVLinks to NVSwitches\n";
    std::set<std::string> unknown;  // each name once for all hosts
    for (const HostRoutes& host : plan.hosts)
        unknown.insert(host.ports_of_assumed_speed().begin(), host.ports_of_assumed_speed().end());
    if (plan.hosts.size() > 1 && !unknown.empty())
        text += fmt::format("unknown speed, assumed as 10 Gbit/s: {}\n", fmt::join(unknown, ", "));
    return text;
}

nlohmann::ordered_json to_json(const RingPlan& plan, const RingSet& rings) {
    nlohmann::ordered_json channels = nlohmann::json::array();
    const auto members = members_of(plan, rings);
    for (std::size_t c = 0; c < rings.channels.size(); ++c) {
        nlohmann::ordered_json ports = nlohmann::json::array();
        for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
            const HostChannel& part = rings.channels[c][h];
            if (part.port_in && part.port_out)
                ports.push_back({{"in", plan.hosts[h].name(*part.port_in)},
                                 {"out", plan.hosts[h].name(*part.port_out)}});
        }
        channels.push_back({{"order", members[c]}, {"ports", ports}});
    }
    return {{"GBps", rings.bandwidth_GBps},
            {"GBps_per_channel", rings.bandwidth_GBps_per_channel},
            {"hops", rings.hops},
            {"inside", short_name(rings.inside)},
            {"to_port", short_name(rings.to_port)},
            {"links", kinds_of(rings)},
            {"limit", rings.limit},
            {"channels", channels}};
}

}  // namespace

std::string print_rings(const RingPlan& plan) {
    std::string page = describe(plan) + "\n" + remarks(plan) + "\n";
    if (plan.found.limit.empty())
        return page + "only one member, so no link is used; try --hosts 4 or --from FILE\n";
    page +=
        "order  channels   GB/s each   GB/s in all     hops  inside to NIC  links                "
        "limit\n";
    page += row("found", plan.found) + row("naive", plan.naive);
    if (plan.naive.bandwidth_GBps > 0)
        page += fmt::format("predicted bus bandwidth: {:.2f} times that of the naive order\n",
                            plan.found.bandwidth_GBps / plan.naive.bandwidth_GBps);
    page += fmt::format("\nchannels, in order of {}\n",
                        plan.hosts.front().has_gpus() ? "GPUs" : "NUMA nodes");
    for (std::size_t c = 0; c < plan.found.channels.size(); ++c)
        page += fmt::format("{:>3}: {}\n", c, order_text(plan, plan.found.channels[c]));
    return page;
}

std::string rings_to_json(const RingPlan& plan) {
    const auto hosts = std::max(plan.hosts.size(), as_size(plan.hosts_of_fabric));
    return nlohmann::ordered_json{{"hosts", hosts},
                                  {"members", plan.hosts.front().has_gpus() ? "GPU" : "NUMA node"},
                                  {"found", to_json(plan, plan.found)},
                                  {"naive", to_json(plan, plan.naive)}}
        .dump(2);
}

std::string print_order(const RingPlan& plan) {
    std::string text =
        fmt::format("# {}; predicted {:.2f} GB/s in {}\n", describe(plan),
                    plan.found.bandwidth_GBps, counted(plan.found.channels.size(), "channel"));
    const auto channels = members_of(plan, plan.found);
    text += fmt::format("# for {}, one per {}\n", counted(channels.front().size(), "rank"),
                        plan.hosts.front().has_gpus() ? "GPU" : "NUMA node");
    for (const auto& channel : channels) text += fmt::format("{}\n", fmt::join(channel, " "));
    return text;
}

}  // namespace tutti
