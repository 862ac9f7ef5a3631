// SPDX-License-Identifier: Apache-2.0
#include "topology/draw/link_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>

#include "base/index.hpp"
#include "base/source.hpp"
#include "topology/machine/fingerprint.hpp"
#include "topology/machine/link_speeds.hpp"

namespace tutti {
namespace {

void add(LinkSum& sum, const Link& link, const Host& host) {
    sum.kind = link.kind;
    sum.count += link.count;
    sum.bandwidth_GBps += bandwidth_GBps_of(link, host);
}

std::string with_one_digit(double number) {
    std::string text = fmt::format("{:.1f}", number);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
}

}  // namespace

LinkSummary summary_of_links(const Host& host) {
    LinkSummary summary;
    std::set<int> gpus, nvswitches;
    std::set<LinkKind> kinds, kinds_to_nodes;
    const auto is = [&](const LinkEnd& end, DeviceKind kind) {
        return end.kind == LinkEnd::Kind::device &&
               host.devices.at(as_size(end.index)).kind == kind;
    };
    for (const Link& link : host.links) {
        const bool at_node =
            link.a.kind == LinkEnd::Kind::numa_node || link.b.kind == LinkEnd::Kind::numa_node;
        (at_node ? kinds_to_nodes : kinds).insert(link.kind);
        // The GPU first; of two GPUs the lower position.
        const bool swaps_ends = !is(link.a, DeviceKind::gpu) ||
                                (is(link.b, DeviceKind::gpu) && link.b.index < link.a.index);
        const LinkEnd& from = swaps_ends ? link.b : link.a;
        const LinkEnd& to = swaps_ends ? link.a : link.b;
        if (!is(from, DeviceKind::gpu)) continue;
        if (to.kind == LinkEnd::Kind::numa_node) {
            add(summary.to_nodes[{from.index, to.index}], link, host);
        } else if (is(to, DeviceKind::nvswitch)) {
            add(summary.to_switches[from.index], link, host);
            nvswitches.insert(to.index);
        } else if (is(to, DeviceKind::gpu)) {
            add(summary.pairs[{from.index, to.index}], link, host);
            gpus.insert({from.index, to.index});
        }
    }
    for (int device = 0; device < int_size(host.devices); ++device)
        if (is({LinkEnd::Kind::device, device}, DeviceKind::gpu) && !gpus.contains(device) &&
            !summary.to_switches.contains(device))
            summary.without.push_back(device);
    if (gpus.empty() && summary.to_switches.empty()) summary.without.clear();
    if (kinds.empty()) kinds = kinds_to_nodes;
    summary.kinds.assign(kinds.begin(), kinds.end());
    summary.gpus.assign(gpus.begin(), gpus.end());
    summary.nvswitches.assign(nvswitches.begin(), nvswitches.end());
    return summary;
}

std::vector<AlikeGpus> alike_at_switches(const LinkSummary& links) {
    std::vector<AlikeGpus> groups;
    for (const auto& [gpu, sum] : links.to_switches) {
        auto group = std::ranges::find(groups, sum, &AlikeGpus::sum);
        if (group == groups.end()) group = groups.insert(group, {sum, {}});
        group->gpus.push_back(gpu);
    }
    return groups;
}

std::string in_spans(const std::vector<int>& gpus, const std::vector<std::string>& labels) {
    std::string text;
    const auto add = [&](std::string_view separator, int gpu) {
        text += fmt::format("{}{}", text.empty() ? "" : separator, at(labels, gpu));
    };
    // No other GPU has a number between those of two that follow one another.
    const auto number = [&](int gpu) {
        return decimal_number(at(labels, gpu).substr(short_name(DeviceKind::gpu).size()))
            .value_or(0);
    };
    for (std::size_t first = 0; first < gpus.size();) {
        std::size_t last = first;
        while (last + 1 < gpus.size() && number(gpus[last + 1]) == number(gpus[last]) + 1) ++last;
        add(", ", gpus[first]);
        if (last > first) add(last == first + 1 ? ", " : "-", gpus[last]);
        first = last + 1;
    }
    return text;
}

std::string names_of(const std::vector<LinkKind>& kinds) {
    std::string names;
    for (const LinkKind kind : kinds) names += (names.empty() ? "" : " and ") + short_name(kind);
    return names;
}

std::string in_ranges(const std::vector<int>& numbers) {
    std::string text;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (!text.empty()) text += ",";
        text += fmt::format("{}", numbers[first]);
        if (last > first) text += fmt::format("{}{}", last == first + 1 ? "," : "-", numbers[last]);
        first = last + 1;
    }
    return text;
}

std::string counted(std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

Bytes memory_of(const Host& host) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    Bytes sum;
    for (const NumaNode& node : host.numa_nodes)
        sum.count += std::min(node.memory.count, most - sum.count);
    return sum;
}

std::string in_GBps(double bandwidth_GBps) { return with_one_digit(bandwidth_GBps); }

std::string in_binary_units(Bytes bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto amount = static_cast<double>(bytes.count);
    std::size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
    return with_one_digit(amount) + " " + units[unit];
}

std::vector<std::vector<int>> alike_hosts(const Machine& machine) {
    std::vector<std::vector<int>> groups;
    std::map<std::string, std::size_t> group_of;
    for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
        const auto [place, is_new] =
            group_of.try_emplace(fingerprint(machine.hosts[i]), groups.size());
        if (is_new) groups.emplace_back();
        groups[place->second].push_back(static_cast<int>(i));
    }
    return groups;
}

std::string fabrics_text(const Machine& machine) {
    std::map<std::string, std::vector<const Host*>> members;
    for (const Host& host : machine.hosts)
        if (!host.nvlink_fabric.empty()) members[host.nvlink_fabric].push_back(&host);
    std::string text;
    for (const auto& [fabric, hosts] : members) {
        if (hosts.size() < 2) continue;
        double least = std::numeric_limits<double>::infinity();
        std::string names;
        for (const Host* host : hosts) {
            names += (names.empty() ? "" : ", ") + host->name;
            for (const auto& [gpu, sum] : summary_of_links(*host).to_switches)
                least = std::min(least, sum.bandwidth_GBps);
        }
        text += fmt::format("NVLink fabric of {}: their GPUs reach each other, {} GB/s each way\n",
                            names, in_GBps(least));
    }
    return text;
}

std::string names_of_alike(const Machine& machine, const std::vector<int>& alike) {
    constexpr std::size_t enough = 16;
    const auto name_of = [&](int host) {
        const std::string& name = machine.hosts.at(as_size(host)).name;
        return name.empty() ? std::string("host") : name;
    };
    if (alike.size() == 1) return name_of(alike.front());
    std::string text = fmt::format("{} hosts like this:", alike.size());
    for (std::size_t i = 0; i < std::min(alike.size(), enough); ++i)
        text += (i > 0 ? ", " : " ") + name_of(alike[i]);
    if (alike.size() > enough) text += fmt::format(", and {} more", alike.size() - enough);
    return text;
}

}  // namespace tutti
