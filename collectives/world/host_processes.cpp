// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/host_processes.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "topology/detect/host_facts.hpp"

namespace tutti {

std::string name_of_this_host() {
    const HostFacts facts = host_facts();
    return facts.name + " " + facts.boot_id;
}

Placement hosts_by_name(const std::vector<std::string>& name_of_rank) {
    std::map<std::string, int> number_of;
    std::vector<int> labels;
    for (const std::string& host : name_of_rank)
        labels.push_back(number_of.try_emplace(host, int_size(number_of)).first->second);
    return Placement::by_label(labels);
}

bool take_turns(int ranks, int cores, std::optional<double> cpu_quota) {
    return ranks > std::min<double>(cores, cpu_quota.value_or(cores));
}

// The launcher may have bound each rank to its own core, so this counts the union of the cores of
// all ranks of a machine. Containers that share a machine count together.
bool is_oversubscribed(World& world) {
    // The mask has room for 8192 CPUs: the kernel refuses a mask shorter than its own.
    struct Mask {
        cpu_set_t words[8];
    };
    Mask mine{};
    sched_getaffinity(0, sizeof mine, mine.words);
    const auto cores_of = gather_all(world, mine);
    static const HostFacts facts = host_facts();  // slow: computed once for all worlds
    const auto has_too_many = [&](const std::vector<Rank>& together,
                                  std::optional<double> cpu_quota) {
        if (std::ranges::find(together, world.rank()) == together.end()) return false;
        Mask all{};
        for (Rank member : together)
            CPU_OR_S(sizeof all, all.words, all.words, at(cores_of, member).words);
        return take_turns(int_size(together), CPU_COUNT_S(sizeof all, all.words), cpu_quota);
    };
    const auto boots = gather_all_texts(world, facts.boot_id);
    std::vector<Rank> same_boot;
    for (int other = 0; other < world.size(); ++other)
        if (!facts.boot_id.empty() && at(boots, other) == facts.boot_id)
            same_boot.push_back(Rank{other});
    const auto has_too_many_here = [&](const auto& host) {
        return has_too_many(host, facts.cpu_quota);
    };
    const bool has_one = has_too_many(same_boot, std::nullopt) ||
                         std::ranges::any_of(world.hosts().nodes(), has_too_many_here);
    return !true_on_all_ranks(world, !has_one);
}

}  // namespace tutti
