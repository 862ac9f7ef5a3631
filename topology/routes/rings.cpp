// SPDX-License-Identifier: Apache-2.0
#include "topology/routes/rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/index.hpp"
#include "topology/machine/printable.hpp"
#include "topology/routes/ring_mix.hpp"
#include "topology/routes/ring_search.hpp"

namespace tutti {
namespace {

// Searches rings over all hosts of a machine; equal hosts are searched once.
class Planner {
public:
    Planner(const Machine& machine, const std::vector<HostRoutes>& hosts)
        : machine_(machine), hosts_(hosts) {
        std::vector<Host> seen;
        for (const Host& host : machine.hosts) seen.push_back(without_identity(host));
        for (const Host& host : seen)
            same_as_.push_back(std::ranges::find(seen, host) - seen.begin());
    }

    RingSet naive() const {
        std::vector<HostChannel> there;
        for (const HostRoutes& host : hosts_) there.push_back(in_numbered_order(host));
        const RingSet one = evaluated({there});
        if (hosts_.size() > 1 || hosts_.front().members() < 3) return one;
        const RingSet both = evaluated({there, {reversed(there.front())}});
        return is_better(both, one) ? both : one;
    }

    static constexpr std::int64_t most_work = 1 << 27;  // per kind of path; a tenth of a second

    // Starts with near legs; worse legs have to gain a fifth. Returns `fallback` if nothing is
    // better.
    RingSet best(RingSet fallback) const {
        constexpr double gain_for_worse_legs = 1.2;
        std::optional<RingSet> found;
        for (const LegLimits& limits : tiers()) {
            const double needed = found ? found->bandwidth_GBps * gain_for_worse_legs : 0;
            const RingSet set = best_within(limits, needed);
            if (!set.channels.empty() && set.bandwidth_GBps > needed) found = set;
        }
        const bool gains = found && found->bandwidth_GBps >= fallback.bandwidth_GBps &&
                           is_better(*found, fallback);
        if (!gains) return fallback;
        return along_rails(*found);
    }

private:
    // Removes data that does not matter to the search, such as names, addresses and memory sizes,
    // so that hosts of one kind are equal.
    static Host without_identity(Host host) {
        host.name.clear();
        host.packages.clear();
        host.caches.clear();
        host.transports.clear();
        host.not_seen.clear();
        host.nvlink_fabric.clear();
        for (Core& core : host.cores) core.threads.clear();
        for (NumaNode& node : host.numa_nodes) node.memory = {};
        for (PcieSwitch& bridge : host.pcie_switches) bridge.pci_address.clear();
        for (Device& device : host.devices) {
            device.pci_address.clear();
            device.names.clear();
            for (Port& port : device.ports) port.name.clear();
        }
        return host;
    }

    bool is_first_of_its_kind(std::size_t host) const {
        return same_as_[host] == static_cast<std::ptrdiff_t>(host);
    }

    // Each kind of host has its own budget, so that difficult hosts do not use up that of others;
    // it is smaller if there are many kinds, to limit the total time.
    std::vector<int> step_budgets() const {
        constexpr std::ptrdiff_t in_all = 1 << 17, at_least = 1 << 14;
        std::ptrdiff_t kinds = 0;
        for (std::size_t h = 0; h < hosts_.size(); ++h) kinds += is_first_of_its_kind(h) ? 1 : 0;
        return std::vector<int>(hosts_.size(),
                                static_cast<int>(std::max(in_all / kinds, at_least)));
    }

    bool hosts_differ() const {
        return std::ranges::any_of(same_as_, [](std::ptrdiff_t first) { return first != 0; });
    }

    RingEnds ends() const { return hosts_.size() > 1 ? RingEnds::at_ports : RingEnds::closed; }

    // Returns the members in their numbering, with the ports nearest to the first and last one.
    HostChannel in_numbered_order(const HostRoutes& host) const {
        HostChannel channel;
        channel.members.resize(as_size(host.members()));
        std::iota(channel.members.begin(), channel.members.end(), 0);
        if (ends() == RingEnds::closed) return channel;
        const auto nearest = [&](auto leg_by) {
            int best = host.members();
            for (int port = best; port < host.members() + host.ports(); ++port) {
                const Leg& leg = leg_by(port);
                const Leg& other = leg_by(best);
                if (std::pair(leg.type, leg.hops) < std::pair(other.type, other.hops)) best = port;
            }
            return best;
        };
        channel.port_in = nearest([&](int port) -> const Leg& { return host.leg(port, 0); });
        channel.port_out =
            nearest([&](int port) -> const Leg& { return host.leg(channel.members.back(), port); });
        return channel;
    }

    // Whether such legs connect all members.
    static bool are_joined(const HostRoutes& host, PathType worst) {
        std::vector<int> reached{0};
        for (std::size_t i = 0; i < reached.size(); ++i)
            for (int member = 0; member < host.members(); ++member)
                if (host.leg(reached[i], member).type <= worst && worst != PathType::dis &&
                    std::ranges::find(reached, member) == reached.end())
                    reached.push_back(member);
        return int_size(reached) == host.members();
    }

    // Returns the pairs of limits that occur, best first; the limit between members counts first.
    std::vector<LegLimits> tiers() const {
        std::set<PathType> inside;
        std::set<PathType> to_port;
        for (const HostRoutes& host : hosts_)
            for (int a = 0; a < host.members(); ++a) {
                for (int b = 0; b < host.members(); ++b)
                    if (a != b || host.members() == 1) inside.insert(host.leg(a, b).type);
                for (int p = host.members(); p < host.members() + host.ports(); ++p)
                    to_port.insert({host.leg(a, p).type, host.leg(p, a).type});
            }
        std::vector<LegLimits> tiers;
        if (ends() == RingEnds::closed) to_port = {PathType::loc};
        for (const PathType members : inside)
            for (const PathType ports : to_port)
                if (ports != PathType::dis && std::ranges::all_of(hosts_, [&](const auto& host) {
                        return are_joined(host, members);
                    }))
                    tiers.push_back({members, ports});
        return tiers;
    }

    struct Rate {
        double bandwidth_GBps = 0;
        int most = 0;  // number of channels
    };

    // Descending, so that among equal totals the one with the fewest channels is kept.
    std::vector<Rate> rates_of(PackingTask task) const {
        std::set<double, std::greater<>> rates;
        for (std::size_t h = 0; h < hosts_.size(); ++h)
            if (is_first_of_its_kind(h))
                for (const double rate : rates_to_try(hosts_[h], task)) rates.insert(rate);
        std::vector<Rate> with_channels;
        for (const double rate : rates) {
            task.bandwidth_GBps = rate;
            int most = most_rings;
            for (const HostRoutes& host : hosts_)
                most = std::min(most, most_channels_of(host, task));
            with_channels.push_back({rate, most});
        }
        return with_channels;
    }

    RingSet best_within(const LegLimits& limits, double needed) const {
        constexpr int easy = 2048;  // steps
        std::vector<int> steps = step_budgets();
        const int hard_below = steps.front() - easy;
        PackingTask task{.limits = limits, .ends = ends()};
        const std::vector<Rate> rates = rates_of(task);
        double bound_GBps = 0;
        for (const auto& [rate, most] : rates) bound_GBps = std::max(bound_GBps, most * rate);
        RingSet best;
        const auto enough_GBps = [&] {
            return std::max(needed, best.bandwidth_GBps * gain_for_more_channels);
        };
        // The exact upper bound is computed only if the search is not easy.
        std::int64_t work = most_work;
        std::optional<RingMix> mix;
        bool is_easy = true;
        const auto find_bound = [&] {
            if (!std::exchange(is_easy, false) || hosts_.size() > 1) return;
            mix = best_mix(hosts_.front(), task, {}, work);
            if (mix) bound_GBps = mix->bound_GBps;
        };
        for (const auto& [rate, most] : rates) {
            if (std::min(most * rate, bound_GBps) <= enough_GBps()) continue;
            task.bandwidth_GBps = rate;
            const auto channels = pack_all(task, steps);
            if (!channels.empty())
                if (const RingSet set = evaluated(channels); is_better(set, best)) best = set;
            if (steps.front() < hard_below) find_bound();
        }
        if (bound_GBps > enough_GBps()) find_bound();
        // The best rings may have rates that differ from those of all links.
        for (int count = 1; mix && count <= most_rings && bound_GBps > enough_GBps(); ++count) {
            task.bandwidth_GBps = bound_GBps / count;
            const double enough = enough_GBps() / task.bandwidth_GBps;
            std::vector<RingChannel> channels;
            for (HostChannel& channel :
                 in_channels(hosts_.front(), task, *mix, static_cast<int>(enough) + 1, work))
                channels.push_back({std::move(channel)});
            if (int_size(channels) <= enough) continue;
            if (const RingSet set = evaluated(channels); is_better(set, best)) best = set;
        }
        return best;
    }

    // Reverses every second host: then a channel that enters by one port and leaves by another
    // reaches the same port of the next host. Used unless it costs bandwidth.
    RingSet along_rails(const RingSet& set) const {
        std::vector<RingChannel> turned = set.channels;
        for (RingChannel& channel : turned)
            for (std::size_t h = 1; h < channel.size(); h += 2)
                if (same_as_[h] == 0) channel[h] = reversed(channel[h]);
        const RingSet other = evaluated(turned);
        return other.bandwidth_GBps < set.bandwidth_GBps ? set : other;
    }

    std::vector<RingChannel> pack_all(const PackingTask& task, std::vector<int>& steps) const {
        std::vector<std::vector<HostChannel>> of_host;
        std::size_t fewest = most_rings;
        for (std::size_t h = 0; h < hosts_.size(); ++h) {
            const auto same = as_size(same_as_[h]);
            of_host.push_back(same < h ? of_host[same] : pack_channels(hosts_[h], task, steps[h]));
            fewest = std::min(fewest, of_host.back().size());
        }
        std::vector<RingChannel> channels(fewest);
        for (std::size_t c = 0; c < fewest; ++c)
            for (const auto& packed : of_host) channels[c].push_back(packed[c]);
        return channels;
    }

    // Better means 1 % more bandwidth, or else nearer legs, fewer hops or fewer channels.
    static constexpr double gain_for_more_channels = 1.01;
    static bool is_better(const RingSet& a, const RingSet& b) {
        if (a.bandwidth_GBps > b.bandwidth_GBps * gain_for_more_channels) return true;
        if (b.bandwidth_GBps > a.bandwidth_GBps * gain_for_more_channels) return false;
        return std::tuple(a.inside, a.to_port, a.hops, a.channels.size()) <
               std::tuple(b.inside, b.to_port, b.hops, b.channels.size());
    }

    RingSet evaluated(const std::vector<RingChannel>& channels) const {
        RingSet set{.channels = channels};
        const auto number = static_cast<double>(channels.size());
        int hops = 0;
        double slowest = std::numeric_limits<double>::infinity();
        const auto limited = [&](double bandwidth_GBps, const std::string& by) {
            if (bandwidth_GBps >= slowest) return;
            slowest = bandwidth_GBps;
            set.limit = by;
        };
        for (std::size_t h = 0; h < hosts_.size(); ++h) {
            const HostRoutes& host = hosts_[h];
            std::vector<HostChannel> here;
            for (const RingChannel& channel : channels) here.push_back(channel[h]);
            for (const HostChannel& channel : here) hops += add_legs(set, host, channel);
            const ChannelRate rate = rate_of(host, here);
            const std::string at = hosts_differ() ? printable(machine_.hosts[h].name) + ": " : "";
            if (rate.limit)
                limited(rate.bandwidth_GBps, at + host.graph().describe(*rate.limit));
            else if (hops > 0)
                limited(0, at + "no path between two members");
        }
        if (hosts_.size() > 1)
            for (const NetworkLink& link : machine_.network)
                if (link.bandwidth_GBps > 0 &&  // else unknown
                    link.to == (link.from + 1) % int_size(hosts_))
                    limited(link.bandwidth_GBps / number,
                            fmt::format("network from host {} to host {}", link.from, link.to));
        set.hops = hops / number;
        if (set.limit.empty()) return set;  // one member: nothing is carried
        set.bandwidth_GBps_per_channel = slowest;
        set.bandwidth_GBps = slowest * number;
        return set;
    }

    static int add_legs(RingSet& set, const HostRoutes& host, const HostChannel& channel) {
        int hops = 0;
        const auto legs = legs_of(host, channel);
        for (std::size_t i = 0; i < legs.size(); ++i) {
            hops += legs[i]->hops;
            const bool to_port =
                (channel.port_in && i == 0) || (channel.port_out && i + 1 == legs.size());
            PathType& worst = to_port ? set.to_port : set.inside;
            worst = std::max(worst, legs[i]->type);
            if (!to_port)
                for (const Charge& charge : legs[i]->charges)
                    set.kinds.insert(at(host.graph().edges, charge.edge).kind);
        }
        return hops;
    }

    const Machine& machine_;
    const std::vector<HostRoutes>& hosts_;
    std::vector<std::ptrdiff_t> same_as_;  // for each host, the first equal one
};

}  // namespace

namespace {

// Plans hosts of one NVLink fabric as one host.
RingPlan rings_of_fabric(const Machine& machine) {
    RingPlan plan{.hosts_of_fabric = int_size(machine.hosts)};
    plan.hosts.emplace_back(graph_of_fabric(machine.hosts));
    const Machine one{.hosts = {machine.hosts.front()}, .network = {}};
    const Planner planner(one, plan.hosts);
    plan.naive = planner.naive();
    plan.found = planner.best(plan.naive);
    return plan;
}

RingPlan rings_over_network(const Machine& machine);

bool all_have_ports(const Machine& machine) {
    return std::ranges::all_of(machine.hosts,
                               [](const Host& host) { return !graph_of(host).ports.empty(); });
}

}  // namespace

RingPlan plan_rings(const Machine& machine) {
    if (machine.hosts.empty()) throw Error("the machine has no host; use --from FILE with one");
    if (shared_fabric(machine).empty()) return rings_over_network(machine);
    RingPlan plan = rings_of_fabric(machine);
    // A GPU that lost its NVLinks may have better rings over the NICs.
    if (plan.found.inside <= PathType::nvb || !all_have_ports(machine)) return plan;
    RingPlan other = rings_over_network(machine);
    return other.found.bandwidth_GBps > plan.found.bandwidth_GBps ? other : plan;
}

namespace {

RingPlan rings_over_network(const Machine& machine) {
    RingPlan plan;
    for (const Host& host : machine.hosts) {
        plan.hosts.emplace_back(host);
        if (machine.hosts.size() > 1 && plan.hosts.back().ports() == 0)
            throw Error("rings over several hosts need NICs, but " +
                        (host.name.empty() ? std::string("a host") : host.name) +
                        " has none; add them to the JSON of tutti topo --json, or use each host "
                        "alone");
    }
    const Planner planner(machine, plan.hosts);
    plan.naive = planner.naive();
    plan.found = planner.best(plan.naive);
    return plan;
}

}  // namespace

std::vector<std::vector<int>> members_of(const RingPlan& plan, const RingSet& rings) {
    std::vector<std::vector<int>> members;
    for (const RingChannel& channel : rings.channels) {
        members.emplace_back();
        int before = 0;
        for (std::size_t h = 0; h < channel.size(); ++h) {
            for (const int member : channel[h].members) members.back().push_back(before + member);
            before += plan.hosts[h].members();
        }
    }
    return members;
}

Machine copies_of(const Host& host, int hosts) {
    Machine machine;
    for (int h = 0; h < hosts; ++h) {
        machine.hosts.push_back(host);
        if (hosts > 1) machine.hosts.back().name = fmt::format("{}.{}", host.name, h);
    }
    return machine;
}

Host with_nvswitches(Host host, int links_per_gpu) {
    if (!host.links.empty())
        throw Error("--nvlinks cannot be used with a host whose links between GPUs are known");
    const int nvswitch = int_size(host.devices);
    for (int device = 0; device < nvswitch; ++device)
        if (at(host.devices, device).kind == DeviceKind::gpu)
            host.links.push_back({.kind = LinkKind::nvlink,
                                  .a = {LinkEnd::Kind::device, device},
                                  .b = {LinkEnd::Kind::device, nvswitch},
                                  .count = links_per_gpu});
    if (host.links.empty()) throw Error("--nvlinks cannot be used with a host without GPUs");
    host.devices.push_back({.kind = DeviceKind::nvswitch});
    return host;
}

}  // namespace tutti
