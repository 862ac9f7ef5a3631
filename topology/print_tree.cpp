// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "topology/machine.hpp"

namespace tutti {
namespace {

// Everything on a host is a set of cores, and larger sets hold smaller ones: that is the tree.
// What has the same cores shares a line (a package and its only NUMA node; a core and its caches).
struct Line {
    CoreSet cores;
    std::string text;
    std::vector<Line> inside;
};

std::string in_units(Bytes bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
    auto amount = static_cast<double>(bytes.count);
    std::size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
    std::string number = fmt::format("{:.1f}", amount);
    if (number.ends_with(".0")) number.resize(number.size() - 2);
    return fmt::format("{} {}", number, units[unit]);
}

std::string counted(std::size_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string title(const Host& host) {
    std::size_t threads = 0;
    for (const Core& core : host.cores) threads += core.threads.size();
    Bytes memory;
    for (const NumaNode& node : host.numa_nodes) memory.count += node.memory.count;
    return fmt::format(
        "{}: {}, {}, {}, {}, {}", host.name.empty() ? "host" : host.name,
        counted(host.packages.size(), "package"), counted(host.numa_nodes.size(), "NUMA node"),
        counted(host.cores.size(), "core"), counted(threads, "thread"), in_units(memory));
}

// One text for each set of cores, joined in the order of the calls to `add`.
class Texts {
public:
    void add(const CoreSet& cores, const std::string& text) {
        std::string& line = texts_[cores];
        line += (line.empty() ? "" : "  ") + text;
    }

    // A set comes before the sets inside it, and those in the order of their first cores.
    std::vector<Line> outermost_first() const {
        std::vector<Line> lines;
        for (const auto& [cores, text] : texts_) lines.push_back({cores, text, {}});
        std::ranges::stable_sort(lines, [](const Line& a, const Line& b) {
            if (a.cores.empty() || b.cores.empty()) return a.cores.empty() < b.cores.empty();
            if (a.cores.front() != b.cores.front()) return a.cores.front() < b.cores.front();
            return a.cores.size() > b.cores.size();
        });
        return lines;
    }

private:
    std::map<CoreSet, std::string> texts_;
};

std::vector<std::string> thread_texts(const Host& host) {
    std::vector<std::string> texts;
    for (const Core& core : host.cores)
        texts.push_back(fmt::format("cpu {}", fmt::join(core.threads, ",")));
    return texts;
}

Texts texts_of(const Host& host) {
    Texts texts;
    for (std::size_t i = 0; i < host.packages.size(); ++i) {
        const Package& package = host.packages[i];
        texts.add(package.cores, fmt::format("package {}{}{}", i, package.model.empty() ? "" : " ",
                                             package.model));
    }
    for (const NumaNode& node : host.numa_nodes)
        texts.add(node.cores, fmt::format("NUMA node {} {}", node.os_index, in_units(node.memory)));

    const std::vector<std::string> threads = thread_texts(host);
    std::size_t thread_width = 0;
    for (const std::string& text : threads) thread_width = std::max(thread_width, text.size());
    const std::size_t index_width = std::to_string(host.cores.size()).size();
    for (std::size_t i = 0; i < host.cores.size(); ++i)
        texts.add({static_cast<int>(i)},
                  fmt::format("core {:<{}}  {:<{}}", i, index_width, threads[i], thread_width));

    std::vector<Cache> caches = host.caches;
    std::ranges::stable_sort(caches, std::ranges::greater{}, &Cache::level);
    for (const Cache& cache : caches)
        texts.add(cache.cores, fmt::format("{} {}", short_name(cache), in_units(cache.size)));
    return texts;
}

// A device is near the cores of its NUMA node, or, if that is unknown, near any core.
CoreSet cores_near(const Host& host, const Device& device) {
    CoreSet all;
    for (std::size_t i = 0; i < host.cores.size(); ++i) all.push_back(static_cast<int>(i));
    const auto node = std::ranges::find_if(
        host.numa_nodes, [&](const NumaNode& n) { return n.os_index == device.numa_node; });
    return node == host.numa_nodes.end() ? all : node->cores;
}

std::string text_of(const Device& device) {
    return fmt::format("{} {}  {}  {}", short_name(device.kind), device.pci_address, device.pci_id,
                       fmt::join(device.names, " "));
}

// The innermost line whose cores include these; no cores are nowhere but on the host.
Line& home_of(const CoreSet& cores, Line& outer) {
    if (cores.empty()) return outer;
    for (Line& inner : outer.inside)
        if (std::ranges::includes(inner.cores, cores)) return home_of(cores, inner);
    return outer;
}

void draw(std::string& page, const Line& line, const std::string& indent) {
    page += line.text.substr(0, line.text.find_last_not_of(' ') + 1) + "\n";
    for (const Line& inner : line.inside) {
        const bool last = &inner == &line.inside.back();
        page += indent + (last ? "└─ " : "├─ ");
        draw(page, inner, indent + (last ? "   " : "│  "));
    }
}

}  // namespace

std::string print_tree(const Host& host) {
    Line root{.cores = {}, .text = title(host), .inside = {}};
    for (Line& line : texts_of(host).outermost_first())
        home_of(line.cores, root).inside.push_back(std::move(line));
    for (const Device& device : host.devices)  // without cores, as nothing is inside a device
        home_of(cores_near(host, device), root).inside.push_back({{}, text_of(device), {}});

    std::string page;
    draw(page, root, "");
    for (const std::string& note : host.not_seen) page += "not seen: " + note + "\n";
    return page;
}

}  // namespace tutti
