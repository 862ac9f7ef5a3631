// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/ring_load.hpp"

#include <algorithm>
#include <utility>

#include "base/index.hpp"

namespace tutti {
namespace {

bool is_intel(const CpuIdentity& cpu) {
    return cpu.vendor == "GenuineIntel" && !cpu.architecture.starts_with("a") &&
           !cpu.architecture.starts_with("ppc");
}

}  // namespace

HostRoutes::HostRoutes(HostGraph graph) : graph_(std::move(graph)) {
    stops_ = graph_.gpus.empty() ? graph_.cpus : graph_.gpus;
    members_ = int_size(stops_);

    std::vector<double> speeds;  // for each port; 0 if unknown
    double fastest = 0;
    for (std::size_t p = 0; p < graph_.ports.size(); ++p) {
        const int edge = at(graph_.out, graph_.ports[p]).front();
        speeds.push_back(graph_.port_speed_known[p] ? capacity(edge) : 0);
        fastest = std::max(fastest, speeds.back());
    }
    for (std::size_t p = 0; p < graph_.ports.size(); ++p) {
        if (speeds[p] < fastest / 2) continue;
        stops_.push_back(graph_.ports[p]);
        if (!graph_.port_speed_known[p]) assumed_.push_back(name(stops() - 1));
    }

    const PathTable paths = paths_of(graph_);
    for (const int from : stops_)
        for (const int to : stops_) legs_.push_back(leg_along(at(at(paths, from), to), from));
}

// Uses NCCL's rules of thumb (src/graph/search.cc): between GPUs an Intel root complex forwards 5/6
// of the PCIe bandwidth; GPUs before compute capability 8.0 lose an eighth of what they receive
// from a NIC when they send; NVLink to a POWER processor has one bandwidth for both directions
// together.
Leg HostRoutes::leg_along(const Path& path, int from) const {
    Leg leg{path.type, path.hops(), {}};
    const auto kind = [&](int node) { return at(graph_.nodes, node).kind; };
    const bool from_gpu = kind(from) == GraphNodeKind::gpu;
    const bool through_intel = path.type == PathType::phb && from_gpu && is_intel(graph_.cpu);
    for (const int e : path.edges) {
        const GraphEdge& edge = at(graph_.edges, e);
        const bool slowed = through_intel && edge.kind == EdgeKind::pcie;
        leg.charges.push_back({e, slowed ? 1.2 : 1.0});

        const int capability = at(graph_.compute_capability, edge.to);
        if (!from_gpu && kind(edge.to) == GraphNodeKind::gpu && capability > 0 && capability < 80)
            leg.charges.push_back({edge.reverse, 1.0 / 8});
        if (edge.kind == EdgeKind::nvlink && kind(edge.to) == GraphNodeKind::cpu &&
            graph_.cpu.architecture.starts_with("ppc"))
            leg.charges.push_back({edge.reverse, 1.0});
    }
    return leg;
}

const std::string& HostRoutes::name(int stop) const {
    return at(graph_.nodes, at(stops_, stop)).name;
}

HostChannel reversed(const HostChannel& channel) {
    return {{channel.members.rbegin(), channel.members.rend()}, channel.port_out, channel.port_in};
}

std::vector<const Leg*> legs_of(const HostRoutes& routes, const HostChannel& channel) {
    std::vector<int> stops = channel.members;
    if (channel.port_in) stops.insert(stops.begin(), *channel.port_in);
    if (channel.port_out)
        stops.push_back(*channel.port_out);
    else if (channel.members.size() > 1)
        stops.push_back(channel.members.front());
    std::vector<const Leg*> legs;
    for (std::size_t i = 0; i + 1 < stops.size(); ++i)
        legs.push_back(&routes.leg(stops[i], stops[i + 1]));
    return legs;
}

std::vector<double> load_of(const HostRoutes& routes, const std::vector<HostChannel>& channels) {
    std::vector<double> load(routes.graph().edges.size());
    for (const HostChannel& channel : channels)
        for (const Leg* leg : legs_of(routes, channel))
            for (const Charge& charge : leg->charges) at(load, charge.edge) += charge.weight;
    return load;
}

ChannelRate rate_of(const HostRoutes& routes, const std::vector<HostChannel>& channels) {
    for (const HostChannel& channel : channels)
        for (const Leg* leg : legs_of(routes, channel))
            if (leg->type == PathType::dis) return {};
    const std::vector<double> load = load_of(routes, channels);
    ChannelRate rate;
    for (std::size_t e = 0; e < load.size(); ++e) {
        if (load[e] <= 0) continue;
        const double bandwidth_GBps = routes.capacity(static_cast<int>(e)) / load[e];
        if (rate.limit && bandwidth_GBps >= rate.bandwidth_GBps) continue;
        rate = {bandwidth_GBps, static_cast<int>(e)};
    }
    return rate;
}

}  // namespace tutti
