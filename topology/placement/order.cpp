// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

std::vector<Rank> launchers_order(int ranks) {
    std::vector<Rank> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(Rank{rank});
    return order;
}

}  // namespace

Order order_by_topology(std::span<const RankBinding> binding_of_rank) {
    std::map<int, int> place_of_host;  // hosts in the order of their first rank
    for (const RankBinding& binding : binding_of_rank)
        place_of_host.try_emplace(binding.host, int_size(place_of_host));
    const auto place = [&](Rank rank) {
        const RankBinding& binding = at(binding_of_rank, rank.index);
        return std::tuple(place_of_host.at(binding.host), binding.package, binding.numa_node,
                          binding.cache, binding.core, binding.gpu, rank);
    };
    std::vector<Rank> walk = launchers_order(int_size(binding_of_rank));
    std::ranges::sort(walk, {}, place);
    return {{walk}};
}

namespace {

// Returns 0, 1/2, 1/4, 3/4, 1/8, ... of `places`: positions on a circle as far apart as possible.
std::ptrdiff_t spread_place(int number, std::ptrdiff_t places) {
    std::ptrdiff_t sum = 0, parts = 1;
    for (; number > 0; number /= 2) {
        parts *= 2;
        sum = 2 * sum + number % 2;
    }
    return sum * places / parts;
}

}  // namespace

Order channels_of(const Order& order, int count, int ranks) {
    if (count < 1 || count > most_channels)
        throw Error(fmt::format("{} channels are out of range; use 1 .. {}", count, most_channels));
    if (count == 1) return order;
    std::vector<std::vector<Rank>> given = order.channels;
    if (given.empty()) given.push_back(launchers_order(ranks));
    Order all;
    for (int number = 0; number < count; ++number)
        for (std::vector<Rank> channel : given) {
            // Clang 14 cannot compile libstdc++'s std::ranges::rotate.
            std::rotate(channel.begin(),
                        channel.begin() + spread_place(number / 2, std::ssize(channel)),
                        channel.end());
            if (number % 2 == 1) std::ranges::reverse(channel);
            all.channels.push_back(std::move(channel));
        }
    return all;
}

namespace {

// Parses the ranks of one line. Throws Error if they are not a permutation.
std::vector<Rank> parse_channel(const std::string& line, int ranks) {
    const std::string expected = "list each of 0 .. " + std::to_string(ranks - 1) +
                                 " once, separated by blanks (this launch has " +
                                 std::to_string(ranks) + " ranks)";
    std::vector<Rank> channel;
    std::vector<bool> seen(as_size(ranks));
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        int rank = -1;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
        if (error != std::errc{} || end != word.data() + word.size() || rank < 0 || rank >= ranks)
            throw Error("'" + word + "' is not one of " + std::to_string(ranks) + " ranks; " +
                        expected);
        if (at(seen, rank)) throw Error("rank " + word + " appears twice; " + expected);
        at(seen, rank) = true;
        channel.push_back(Rank{rank});
    }
    const auto missing = std::ranges::find(seen, false);
    if (!channel.empty() && missing != seen.end())
        throw Error("rank " + std::to_string(missing - seen.begin()) + " is missing; " + expected);
    return channel;
}

}  // namespace

Order read_order(const std::string& path, int ranks) {
    std::ifstream file(path);
    if (!file)
        throw Error("cannot read the order '" + path +
                    "'; use naive, topology or a file with one line of ranks per channel");
    Order order;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        try {
            auto channel = parse_channel(line.substr(0, line.find('#')), ranks);
            if (!channel.empty()) order.channels.push_back(std::move(channel));
        } catch (const Error& error) {
            throw Error(path + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    if (order.channels.empty())
        throw Error(path + " has no channel; use one line such as '0 1 2' for each, with all " +
                    std::to_string(ranks) + " ranks");
    return order;
}

namespace {

CoreSet cores_with(const Host& host, const std::vector<int>& cpus) {
    const auto usable = [&](int thread) { return std::ranges::find(cpus, thread) != cpus.end(); };
    CoreSet cores;
    for (std::size_t core = 0; core < host.cores.size(); ++core)
        if (std::ranges::any_of(host.cores[core].threads, usable))
            cores.push_back(static_cast<int>(core));
    return cores;
}

// Returns the position of the first place that contains all cores.
template <class Place>
int place_of(const std::vector<Place>& places, const CoreSet& cores) {
    for (std::size_t place = 0; place < places.size(); ++place)
        if (!cores.empty() && std::ranges::includes(places[place].cores, cores))
            return static_cast<int>(place);
    return -1;
}

std::vector<Cache> last_caches(const Host& host) {
    int last = 0;
    for (const Cache& cache : host.caches) last = std::max(last, cache.level);
    std::vector<Cache> caches = host.caches;
    std::erase_if(caches, [&](const Cache& cache) { return cache.level != last; });
    return caches;
}

}  // namespace

RankBinding binding_of(const Host& host, const std::vector<int>& cpus) {
    const CoreSet cores = cores_with(host, cpus);
    return {.package = place_of(host.packages, cores),
            .numa_node = place_of(host.numa_nodes, cores),
            .cache = place_of(last_caches(host), cores),
            .core = cores.size() == 1 ? cores.front() : -1};
}

Placement placement_of(std::span<const RankBinding> binding_of_rank) {
    std::map<Level, std::vector<int>> labels;
    for (const RankBinding& binding : binding_of_rank) {
        labels[Level::host].push_back(binding.host);
        labels[Level::package].push_back(binding.package);
        labels[Level::numa].push_back(binding.numa_node);
        labels[Level::cache].push_back(binding.cache);
    }
    std::erase_if(labels, [](const auto& level) {
        return std::ranges::all_of(level.second, [](int label) { return label < 0; });
    });
    return Placement::of_levels(int_size(binding_of_rank), std::move(labels));
}

namespace {

RankBinding binding_of_gpu(const Host& host, const Device& gpu) {
    RankBinding binding;
    if (!gpu.numa_node) return binding;
    const auto node = std::ranges::find(host.numa_nodes, *gpu.numa_node, &NumaNode::os_index);
    if (node == host.numa_nodes.end()) return binding;
    binding.numa_node = static_cast<int>(node - host.numa_nodes.begin());
    binding.package = place_of(host.packages, node->cores);
    return binding;
}

std::vector<RankBinding> bindings_that_fill(const Host& host) {
    std::vector<RankBinding> bindings;
    for (const Device& device : host.devices)
        if (device.kind == DeviceKind::gpu) {
            const int gpu = int_size(bindings);
            bindings.push_back(binding_of_gpu(host, device));
            bindings.back().gpu = gpu;
        }
    if (bindings.empty())
        for (const Core& core : host.cores) bindings.push_back(binding_of(host, core.threads));
    if (bindings.empty())
        throw Error("the description of " + host.name +
                    " has neither GPUs nor cores; use another file");
    return bindings;
}

}  // namespace

std::vector<RankBinding> bindings_that_fill(const Machine& machine) {
    std::vector<RankBinding> all;
    for (std::size_t host = 0; host < machine.hosts.size(); ++host)
        for (RankBinding binding : bindings_that_fill(machine.hosts[host])) {
            binding.host = static_cast<int>(host);
            all.push_back(binding);
        }
    return all;
}

}  // namespace tutti
