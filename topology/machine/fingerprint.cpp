// SPDX-License-Identifier: Apache-2.0
#include "topology/machine/fingerprint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "base/hashes.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

using Texts = std::vector<std::string>;

// Sorted, because each source of a host lists its parts in its own order.
std::string joined(Texts texts) {
    std::ranges::sort(texts);
    return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string text_of(PcieLink link) {
    return fmt::format("{} GT/s x{}", link.gigatransfers, link.lanes);
}

std::string text_of(const Device& device) {
    Texts speeds;
    for (const Port& port : device.ports)  // ports hidden from this container have no speed
        if (port.gigabits > 0) speeds.push_back(fmt::format("{} Gb/s", port.gigabits));
    return fmt::format("{} {} {} {}", short_name(device.kind),
                       device.pci_id.empty() ? device.model : device.pci_id, text_of(device.link),
                       joined(speeds));
}

bool counts(const Device& device) { return device.model != virtual_interface; }

/// The graph of devices, switches and NUMA nodes, compared by colour refinement (Weisfeiler and
/// Leman 1968): a part's colour is a hash of its properties, then repeatedly of its own and its
/// neighbours' colours. Equal graphs get equal colours however they are numbered. As colours alone
/// would not distinguish two rings of four from one of eight, a device's first colour has its
/// distances to the other devices.
class Graph {
public:
    explicit Graph(const Host& host) {
        for (const NumaNode& node : host.numa_nodes)
            node_parts_[node.os_index] = add(fmt::format("memory {}", fmt::join(node.cores, ",")));
        for (const PcieSwitch& part : host.pcie_switches)
            switch_parts_.push_back(add(part.pci_id + " " + text_of(part.link)));
        for (std::size_t i = 0; i < switch_parts_.size(); ++i)
            place(switch_parts_[i], host.pcie_switches[i].above, host.pcie_switches[i].numa_node);
        for (const SwitchLink& link : host.switch_links)
            join(at(switch_parts_, link.a), at(switch_parts_, link.b), "linked", "linked");
        for (const Device& part : host.devices) {
            device_parts_.push_back(counts(part) ? add(text_of(part)) : -1);
            if (counts(part)) place(device_parts_.back(), part.above, part.numa_node);
        }
        for (const Link& link : host.links) {
            const int a = part_of(link.a), b = part_of(link.b);
            if (a < 0 || b < 0) continue;
            const std::string text =
                fmt::format("{} {} {}", short_name(link.kind), link.count, link.bandwidth_GBps);
            join(a, b, text, text);
            linked_[a].insert(b);
            linked_[b].insert(a);
        }
        add_distances();
        refine();
    }

    std::string colours() const { return joined(colours_); }

private:
    struct Edge {
        int to;
        std::string text;
    };

    int add(const std::string& text) {
        colours_.push_back(text);
        edges_.emplace_back();
        return int_size(colours_) - 1;
    }

    void join(int a, int b, const std::string& from_a, const std::string& from_b) {
        at(edges_, a).push_back({b, from_a});
        at(edges_, b).push_back({a, from_b});
    }

    void place(int part, std::optional<int> above, std::optional<int> numa_node) {
        if (above && as_size(*above) < switch_parts_.size())
            join(part, at(switch_parts_, *above), "below", "above");
        if (numa_node && node_parts_.contains(*numa_node))
            join(part, node_parts_.at(*numa_node), "at", "has");
    }

    int part_of(const LinkEnd& end) const {
        if (end.kind == LinkEnd::Kind::numa_node) {
            const auto found = node_parts_.find(end.index);
            return found == node_parts_.end() ? -1 : found->second;
        }
        const auto index = as_size(end.index);
        return index < device_parts_.size() ? device_parts_[index] : -1;
    }

    // Distances count links other than PCIe.
    void add_distances() {
        for (const auto& [from, neighbours] : linked_) {
            std::map<int, int> hops{{from, 0}};
            std::queue<int> to_visit({from});
            for (; !to_visit.empty(); to_visit.pop())
                for (const int next : linked_[to_visit.front()])
                    if (hops.try_emplace(next, hops[to_visit.front()] + 1).second)
                        to_visit.push(next);
            std::vector<int> distances;
            for (const auto& [part, distance] : hops) distances.push_back(distance);
            std::ranges::sort(distances);
            at(colours_, from) += fmt::format(" hops {}", fmt::join(distances, ","));
        }
    }

    // Ends when a round distinguishes no further parts.
    void refine() {
        for (std::size_t classes = 0;;) {
            Texts next;
            for (std::size_t part = 0; part < colours_.size(); ++part) {
                Texts around;
                for (const Edge& edge : edges_[part])
                    around.push_back(edge.text + " " + at(colours_, edge.to));
                next.push_back(sha256(colours_[part] + "\n" + joined(around)));
            }
            colours_ = next;
            const std::size_t classes_now = std::set(colours_.begin(), colours_.end()).size();
            if (classes_now <= classes) return;
            classes = classes_now;
        }
    }

    Texts colours_;
    std::vector<std::vector<Edge>> edges_;
    std::map<int, std::set<int>> linked_;
    std::map<int, int> node_parts_;  // by NumaNode::os_index
    std::vector<int> switch_parts_, device_parts_;
};

}  // namespace

std::string fingerprint(const Host& host) {
    Texts parts;
    for (const Package& package : host.packages)
        parts.push_back(fmt::format("package {}", fmt::join(package.cores, ",")));
    for (std::size_t i = 0; i < host.cores.size(); ++i)
        parts.push_back(fmt::format("core {} threads {}", i, host.cores[i].threads.size()));
    for (const Cache& cache : host.caches)
        parts.push_back(fmt::format("{} {} {}", short_name(cache), cache.size.count,
                                    fmt::join(cache.cores, ",")));
    parts.push_back(Graph(host).colours());
    return sha256(joined(parts));
}

std::string fingerprint_of_hosts(std::vector<std::string> hosts) {
    return hosts.size() == 1 ? hosts.front() : sha256(joined(std::move(hosts)));
}

std::string fingerprint(const Machine& machine) {
    Texts hosts;
    for (const Host& host : machine.hosts) hosts.push_back(fingerprint(host));
    return fingerprint_of_hosts(std::move(hosts));
}

}  // namespace tutti
