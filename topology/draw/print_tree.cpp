// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/index.hpp"
#include "topology/draw/device_text.hpp"
#include "topology/draw/link_summary.hpp"
#include "topology/machine/fingerprint.hpp"
#include "topology/machine/machine.hpp"
#include "topology/machine/printable.hpp"

namespace tutti {
namespace {

// Everything on a host is a set of cores, and larger sets hold smaller ones: that is the tree.
// Parts with the same cores share a line (a package and its only NUMA node; a core and its caches);
// a part without cores has a line of its own.
struct Line {
    CoreSet cores;
    std::string text;
    std::vector<Line> inside;
    std::optional<int> node = {};  // number of a NUMA node without cores
};

std::string title(const Host& host) {
    std::size_t threads = 0;
    for (const Core& core : host.cores) threads += core.threads.size();
    std::vector<std::string> known;
    const auto add = [&](std::size_t number, std::string_view noun) {
        if (number > 0) known.push_back(counted(number, noun));
    };
    add(host.packages.size(), "package");
    add(host.numa_nodes.size(), "NUMA node");
    add(host.cores.size(), "core");
    add(threads, "thread");
    if (const Bytes memory = memory_of(host); memory.count > 0)
        known.push_back(in_binary_units(memory));
    return fmt::format("{}{}{}", host.name.empty() ? "host" : host.name, known.empty() ? "" : ": ",
                       fmt::join(known, ", "));
}

// One text for each set of cores, joined in the order of the calls to `add`.
class Texts {
public:
    void add(const CoreSet& cores, const std::string& text, std::optional<int> node = {}) {
        if (cores.empty())
            return without_cores_.push_back(
                {.cores = {}, .text = text, .inside = {}, .node = node});
        std::string& line = texts_[cores];
        line += (line.empty() ? "" : "  ") + text;
    }

    // A set comes before the sets inside it, and those in the order of their first cores.
    std::vector<Line> outermost_first() const {
        std::vector<Line> lines;
        for (const auto& [cores, text] : texts_) lines.push_back({cores, text, {}});
        std::ranges::stable_sort(lines, [](const Line& a, const Line& b) {
            if (a.cores.front() != b.cores.front()) return a.cores.front() < b.cores.front();
            return a.cores.size() > b.cores.size();
        });
        lines.insert(lines.end(), without_cores_.begin(), without_cores_.end());
        return lines;
    }

private:
    std::map<CoreSet, std::string> texts_;
    std::vector<Line> without_cores_;
};

std::string text_of(const NumaNode& node) {
    std::string text = fmt::format("NUMA node {}", node.os_index);
    if (node.memory.count > 0) text += " " + in_binary_units(node.memory);
    if (!node.kind.empty()) text += " " + node.kind;
    return text;
}

Texts texts_of(const Host& host) {
    Texts texts;
    for (std::size_t i = 0; i < host.packages.size(); ++i) {
        const Package& package = host.packages[i];
        texts.add(package.cores, fmt::format("package {}{}{}", i, package.model.empty() ? "" : " ",
                                             package.model));
    }
    for (const NumaNode& node : host.numa_nodes)
        texts.add(node.cores, text_of(node), node.os_index);
    for (std::size_t i = 0; i < host.cores.size(); ++i) texts.add({static_cast<int>(i)}, "");

    std::vector<Cache> caches = host.caches;
    std::ranges::stable_sort(caches, std::ranges::greater{}, &Cache::level);
    for (const Cache& cache : caches)
        texts.add(cache.cores, short_name(cache) +
                                   (cache.size.count > 0 ? " " + in_binary_units(cache.size) : ""));
    return texts;
}

// Describes these cores, which are alike.
std::string text_of_cores(const Host& host, const CoreSet& cores, const std::string& caches) {
    std::vector<int> threads;
    for (const int core : cores)
        for (const int thread : at(host.cores, core).threads) threads.push_back(thread);
    const std::string rest = caches.empty() ? "" : "  " + caches;
    if (cores.size() == 1)
        return fmt::format("core {:<{}}  cpu {}{}", cores.front(),
                           std::to_string(host.cores.size()).size(), fmt::join(threads, ","), rest);
    std::ranges::sort(threads);
    return fmt::format("{} cores {}  cpu {}{}{}", cores.size(), in_ranges(cores),
                       in_ranges(threads), rest, rest.empty() ? "" : " each");
}

// More than four cores in a row that are alike share a line.
std::vector<Line> folded(const Host& host, const std::vector<Line>& lines) {
    constexpr std::ptrdiff_t too_many = 5;
    const auto alike = [](const Line& a, const Line& b) {
        return a.cores.size() == 1 && b.cores.size() == 1 && a.inside.empty() && b.inside.empty() &&
               a.text == b.text;
    };
    std::vector<Line> shorter;
    for (auto first = lines.begin(); first != lines.end();) {
        auto last =
            std::find_if(first, lines.end(), [&](const Line& l) { return !alike(l, *first); });
        if (last == first) ++last;  // no core
        if (last - first < too_many)
            for (; first != last; ++first) {
                shorter.push_back(*first);
                if (first->cores.size() == 1)
                    shorter.back().text = text_of_cores(host, first->cores, first->text);
            }
        else {
            CoreSet cores;
            for (auto line = first; line != last; ++line) cores.push_back(line->cores.front());
            shorter.push_back({cores, text_of_cores(host, cores, first->text), {}});
        }
        first = last;
    }
    return shorter;
}

// Devices of a NUMA node are near its cores; devices of an unknown node are near any core.
CoreSet cores_near(const Host& host, std::optional<int> numa_node) {
    CoreSet all;
    for (std::size_t i = 0; i < host.cores.size(); ++i) all.push_back(static_cast<int>(i));
    const auto node = std::ranges::find_if(
        host.numa_nodes, [&](const NumaNode& n) { return n.os_index == numa_node; });
    return node == host.numa_nodes.end() || node->cores.empty() ? all : node->cores;
}

// The innermost line whose cores include these; no cores are nowhere but on the host.
Line& home_of(const CoreSet& cores, Line& outer) {
    if (cores.empty()) return outer;
    for (Line& inner : outer.inside)
        if (std::ranges::includes(inner.cores, cores)) return home_of(cores, inner);
    return outer;
}

// Devices and switches on the bus; they have no cores, as no core is inside of them.
class Bus {
public:
    explicit Bus(const Host& host) : host_(host), labels_(device_labels(host)) {}

    void hang_on(Line& root) const {
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (!host_.devices[i].above)
                home(root, host_.devices[i].numa_node).inside.push_back(line_of_device(i));
        for (std::size_t i = 0; i < host_.pcie_switches.size(); ++i)
            if (!host_.pcie_switches[i].above)
                home(root, host_.pcie_switches[i].numa_node).inside.push_back(line_of_switch(i));
    }

private:
    Line& home(Line& root, std::optional<int> node) const {
        const auto own = std::ranges::find_if(
            root.inside, [&](const Line& line) { return line.node && line.node == node; });
        if (own != root.inside.end()) return *own;
        return home_of(cores_near(host_, node), root);
    }

    Line line_of_device(std::size_t index) const {
        const Device& device = host_.devices[index];
        std::string text = labels_[index];
        if (!device.pci_address.empty()) text += " " + device.pci_address;
        return {{}, text + "  " + text_of(device), {}};
    }

    Line line_of_switch(std::size_t index) const {
        const PcieSwitch& pcie_switch = host_.pcie_switches[index];
        Line line{{},
                  fmt::format("PCIe switch {}  {}  {}", pcie_switch.pci_address, pcie_switch.pci_id,
                              text_of(pcie_switch.link)),
                  {}};
        const std::optional<int> self = static_cast<int>(index);
        for (std::size_t i = 0; i < host_.devices.size(); ++i)
            if (host_.devices[i].above == self) line.inside.push_back(line_of_device(i));
        for (std::size_t i = index + 1; i < host_.pcie_switches.size(); ++i)
            if (host_.pcie_switches[i].above == self) line.inside.push_back(line_of_switch(i));
        return line;
    }

    const Host& host_;
    std::vector<std::string> labels_;
};

void draw(std::string& page, const Host& host, const Line& line, const std::string& indent) {
    page += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
    const std::vector<Line> lines = folded(host, line.inside);
    for (const Line& inner : lines) {
        const bool last = &inner == &lines.back();
        page += indent + (last ? "└─ " : "├─ ");
        draw(page, host, inner, indent + (last ? "   " : "│  "));
    }
}

std::string print_network(const Machine& machine) {
    const auto name = [&](int host) { return machine.hosts.at(as_size(host)).name; };
    std::string page;
    for (const NetworkLink& link : machine.network)
        page += fmt::format("network {} to {}: {:.3g} GB/s, {:.3g} us\n", name(link.from),
                            name(link.to), link.bandwidth_GBps, link.microseconds);
    return page;
}

}  // namespace

std::string print_tree(const Host& raw) {
    const Host host = printable(raw);
    Line root{.cores = {}, .text = title(host), .inside = {}};
    for (Line& line : texts_of(host).outermost_first())
        home_of(line.cores, root).inside.push_back(std::move(line));
    Bus(host).hang_on(root);

    std::string page;
    draw(page, host, root, "");
    page += links_text(host);
    if (!host.transports.empty())
        page += fmt::format("UCX would use {}\n", fmt::join(host.transports, " "));
    for (const std::string& note : host.not_seen) page += "not seen: " + note + "\n";
    return page;
}

std::string print_tree(const Machine& raw) {
    const Machine machine = printable(raw);
    std::string page;
    for (const std::vector<int>& alike : alike_hosts(raw)) {
        const Host& host = at(machine.hosts, alike.front());
        if (alike.size() > 1) page += names_of_alike(machine, alike) + "\n";
        page += fmt::format("{}fingerprint {}\n", print_tree(host),
                            fingerprint(at(raw.hosts, alike.front())));
    }
    page += fabrics_text(machine) + print_network(machine);
    if (machine.hosts.size() > 1)
        page += fmt::format("{} hosts, fingerprint {}\n", machine.hosts.size(), fingerprint(raw));
    return page;
}

}  // namespace tutti
