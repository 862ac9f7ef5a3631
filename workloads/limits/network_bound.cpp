// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/network_bound.hpp"

#include <algorithm>

namespace tutti {

Crossing least_crossing(const Call& call, const Placement& hosts) {
    const auto& nodes = hosts.nodes();
    const std::size_t count = nodes.size();
    double ranks = 0;
    for (const auto& node : nodes) ranks += static_cast<double>(node.size());
    // Of the vector or of one rank's block.
    const double n = static_cast<double>(call.count) * static_cast<double>(size_of(call.type));
    const double others = static_cast<double>(count) - 1;

    Crossing crossing{std::vector<double>(count), std::vector<double>(count), 0};
    for (std::size_t host = 0; host < count && count > 1; ++host) {
        const auto here = static_cast<double>(nodes[host].size());
        const bool has_root = std::ranges::find(nodes[host], call.root) != nodes[host].end();
        double& out = crossing.out[host];
        double& in = crossing.in[host];
        switch (call.collective) {
            case Collective::all_reduce:  // its share to others, a result or their shares from them
                out = in = n;
                crossing.total = 2 * others * n;
                break;
            case Collective::reduce_scatter:  // a share of each block of others; a sum of its own
                out = (ranks - here) * n;
                in = here * n;
                crossing.total += out;
                break;
            case Collective::all_gather:
                out = here * n;
                in = (ranks - here) * n;
                crossing.total += in;
                break;
            case Collective::all_to_all:
                out = in = here * (ranks - here) * n;
                crossing.total += out;
                break;
            case Collective::broadcast:
                (has_root ? out : in) = n;
                crossing.total = others * n;
                break;
            case Collective::reduce:
                (has_root ? in : out) = n;
                crossing.total = others * n;
                break;
            case Collective::scatter:
                (has_root ? out : in) = (has_root ? ranks - here : here) * n;
                if (has_root) crossing.total = out;
                break;
            case Collective::gather:
                (has_root ? in : out) = (has_root ? ranks - here : here) * n;
                if (has_root) crossing.total = in;
                break;
        }
    }
    return crossing;
}

double least_time_between(const HostNetwork& network, const Call& call, const Placement& hosts) {
    const Crossing crossing = least_crossing(call, hosts);
    if (crossing.total == 0) return 0;
    double time = 0, all_out = 0, all_in = 0, all_burst = 0, latency = 0;
    bool knows_out = true, knows_in = true;  // of all hosts, else the total could be more
    const auto at_least = [&](double bytes, double burst, double gbps) {
        if (gbps > 0) time = std::max(time, (bytes - burst) / gbps);
    };
    for (std::size_t i = 0; i < crossing.out.size(); ++i) {
        const int host = static_cast<int>(i);
        const double out = network.out_gbps(host), in = network.in_gbps(host);
        const auto burst = static_cast<double>(network.burst(host).count);
        at_least(crossing.out[i], burst, out);
        at_least(crossing.in[i], burst, in);
        all_burst += burst;
        all_out += out;
        all_in += in;
        knows_out = knows_out && out > 0;
        knows_in = knows_in && in > 0;
        latency = std::max(latency, network.latency_ns(host));
    }
    if (knows_out) at_least(crossing.total, all_burst, all_out);
    if (knows_in) at_least(crossing.total, all_burst, all_in);
    return latency + time;
}

}  // namespace tutti
