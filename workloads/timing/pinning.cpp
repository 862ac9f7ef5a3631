// SPDX-License-Identifier: Apache-2.0
#include "workloads/timing/pinning.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/world/host_processes.hpp"
#include "topology/detect/host_facts.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {

std::vector<int> cpus_of_cores() {
    const std::vector<int> usable = usable_cpus();
    std::vector<int> cpus;
    for (const Core& core : cores_of_this_host().cores)
        for (const int thread : core.threads)
            if (std::ranges::binary_search(usable, thread)) {
                cpus.push_back(thread);
                break;
            }
    return cpus;
}

void run_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

namespace {

std::vector<std::string> lists_of_ranks(World& world, const std::vector<int>& cpus) {
    std::string mine;
    for (const int cpu : cpus) mine += std::to_string(cpu) + ' ';
    return gather_all_texts(world, mine);
}

// Only rank 0 reads the file, which other hosts may not have.
Order order_of_first(World& world, const std::string& file) {
    Order order;
    done_by_all(world, [&] {
        if (world.is_first()) order = read_order(file, world.size());
    });
    order.channels.resize(from_rank0(world, order.channels.size()));
    for (auto& channel : order.channels) {
        channel.resize(as_size(world.size()));
        world.broadcast(std::as_writable_bytes(std::span(channel)));
    }
    return order;
}

}  // namespace

int place_among_equals(World& world, const std::vector<int>& cpus) {
    const auto lists = lists_of_ranks(world, cpus);
    const auto me = lists.begin() + world.rank().index;
    return static_cast<int>(std::count(lists.begin(), me, *me));
}

int pin_ranks(World& world) {
    const std::vector<int> cpus = cpus_of_cores();
    const auto lists = lists_of_ranks(world, cpus);
    const bool has_chosen =
        std::any_of(lists.begin(), lists.end(), [&](const auto& list) { return list != lists[0]; });
    // The same on all ranks, as all have the same lists.
    if (!world.one_host() || has_chosen || cpus.empty()) return 0;
    const std::size_t ranks = lists.size(), used = std::min(cpus.size(), ranks);
    run_on(cpus[as_size(world.rank()) * used / ranks]);
    return static_cast<int>(divide_up(ranks, used));
}

std::string describe_pinning(int ranks_on_core) {
    if (ranks_on_core == 0) return {};
    return ranks_on_core == 1
               ? "one core per rank (--pin no: placed by the system)"
               : fmt::format("{} neighbouring ranks per core (--pin no: placed by the system)",
                             ranks_on_core);
}

std::vector<RankBinding> sites_of_ranks(World& world) {
    auto sites = gather_all(world, binding_of(cores_of_this_host(), usable_cpus()));
    const Grouping& hosts = world.hosts().nodes();
    for (std::size_t host = 0; host < hosts.size(); ++host)
        for (const Rank rank : hosts[host]) at(sites, rank).host = static_cast<int>(host);
    return sites;
}

Order order_called(const std::string& name, World& world, const std::vector<RankBinding>& sites) {
    if (name.empty() || name == "naive") return {};
    if (name == "topology") return order_by_topology(sites);
    return order_of_first(world, name);
}

}  // namespace tutti
