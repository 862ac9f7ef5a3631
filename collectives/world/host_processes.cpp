// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/host_processes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <utility>

#include "base/hashes.hpp"
#include "base/index.hpp"
#include "topology/detect/host_facts.hpp"
#include "topology/detect/sysfs_host.hpp"
#include "topology/placement/order.hpp"

namespace tutti {

std::string name_of_this_host() {
    utsname system{};
    uname(&system);
    return std::string(system.nodename) + " " + boot_id();
}

std::vector<std::string> usable_cpus_of_ranks(World& world) {
    return gather_all_texts(world, fmt::format("{}", fmt::join(usable_cpus(), ",")));
}

bool take_turns(int ranks, int cores, std::optional<double> cpu_quota) {
    return ranks > std::min<double>(cores, cpu_quota.value_or(cores));
}

namespace {

// The mask has room for 8192 CPUs: the kernel refuses a mask shorter than its own.
struct Mask {
    cpu_set_t words[8];
};

// Upper limit of counted links per host.
constexpr std::size_t most_links = 8;

// Each rank tells this to the others. Names are hashes, so that all have the same length.
struct FactsOfRank {
    std::uint64_t host, machine, process;
    double cpu_quota;
    RankBinding binding;
    Mask cores;
    // Hashes of the networks of the equal links; unused entries are 0.
    std::array<std::uint32_t, most_links> networks;
};

std::uint64_t hash_of(std::string_view name) { return fnv1a(std::as_bytes(std::span(name))); }

// A forked process is another one than its parent.
std::uint64_t token_of_this_process() {
    static std::mutex mutex;
    static std::pair<pid_t, std::uint64_t> known{-1, 0};
    const std::lock_guard lock(mutex);
    if (known.first != getpid()) {
        std::random_device random;
        known = {getpid(), std::uint64_t{random()} << 32 | random()};
    }
    return known.second;
}

// The launcher may have bound each rank to its own core, so this counts the union of the cores of
// all ranks of a machine.
bool have_too_few_cores(const std::vector<FactsOfRank>& facts, const std::vector<Rank>& together,
                        std::optional<double> cpu_quota) {
    Mask all{};
    for (const Rank member : together)
        CPU_OR_S(sizeof all, all.words, all.words, at(facts, member).cores.words);
    return take_turns(int_size(together), CPU_COUNT_S(sizeof all, all.words), cpu_quota);
}

// Returns a number for each rank, equal where the names are equal.
std::vector<int> numbered_by(const std::vector<FactsOfRank>& facts,
                             std::uint64_t FactsOfRank::*name) {
    std::map<std::uint64_t, int> number_of;
    std::vector<int> numbers;
    for (const FactsOfRank& one : facts)
        numbers.push_back(number_of.try_emplace(one.*name, int_size(number_of)).first->second);
    return numbers;
}

std::array<std::uint32_t, most_links> networks_of_links(const std::vector<NetworkDevice>& devices) {
    std::array<std::uint32_t, most_links> networks{};
    std::size_t known = 0;
    for (const auto& [network, device] : equal_devices(devices))
        if (known < most_links)
            networks[known++] = static_cast<std::uint32_t>(hash_of(network)) | 1U;
    return networks;
}

// Counts the networks that all ranks have a link to.
int count_links(const std::vector<FactsOfRank>& facts) {
    const auto is_shared = [&](std::uint32_t network) {
        return network != 0 && std::ranges::all_of(facts, [&](const FactsOfRank& one) {
                   return std::ranges::find(one.networks, network) != one.networks.end();
               });
    };
    return std::max(static_cast<int>(std::ranges::count_if(facts.front().networks, is_shared)), 1);
}

Placement placed_by_bindings(const std::vector<FactsOfRank>& facts) {
    std::vector<RankBinding> bindings;
    for (const FactsOfRank& one : facts) bindings.push_back(one.binding);
    const std::vector<int> hosts = numbered_by(facts, &FactsOfRank::host);
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) bindings[rank].host = hosts[rank];
    return placement_of(bindings);
}

}  // namespace

const std::vector<NetworkDevice>& cards_of_this_host() {
    static const std::vector<NetworkDevice> cards = network_devices();
    return cards;
}

const Host& cores_of_this_host() {
    static const Host host = read_sysfs_cores("/");
    return host;
}

RanksOnHosts ranks_on_hosts(World& world, std::string_view name_of_host, const Host& structure,
                            const std::vector<NetworkDevice>& devices) {
    static const std::uint64_t machine_id = hash_of(boot_id());
    static const std::optional<double> quota = cpu_quota("/");
    constexpr double no_quota = std::numeric_limits<double>::infinity();
    FactsOfRank mine{.host = hash_of(name_of_host),
                     .machine = machine_id,
                     .process = token_of_this_process(),
                     .cpu_quota = quota.value_or(no_quota),
                     .binding = binding_of(structure, usable_cpus()),
                     .cores = {},
                     .networks = networks_of_links(devices)};
    sched_getaffinity(0, sizeof mine.cores, mine.cores.words);
    const auto facts = gather_all(world, mine);
    RanksOnHosts ranks{.hosts = placed_by_bindings(facts), .links = count_links(facts)};
    for (const FactsOfRank& one : facts) ranks.processes.push_back(one.process);
    for (const auto& host : ranks.hosts.nodes())
        if (have_too_few_cores(facts, host, at(facts, host.front()).cpu_quota))
            ranks.are_oversubscribed = true;
    // Containers that share a machine count together, if it can be identified.
    const Placement machines = Placement::by_label(numbered_by(facts, &FactsOfRank::machine));
    for (const auto& machine : machines.nodes())
        if (at(facts, machine.front()).machine != hash_of("") &&
            have_too_few_cores(facts, machine, std::nullopt))
            ranks.are_oversubscribed = true;
    return ranks;
}

}  // namespace tutti
