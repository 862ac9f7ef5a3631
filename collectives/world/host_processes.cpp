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

// The launcher may have bound each rank to a core of its own, so what counts is the union of the
// cores of all ranks of this machine; of containers that share one, all together.
bool is_oversubscribed(World& world) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    const auto cores_of = gather_all(world, mine);
    static const HostFacts facts = host_facts();  // slow: once for many worlds
    const double quota = facts.cpu_quota.value_or(CPU_SETSIZE);
    const auto has_too_many = [&](const std::vector<Rank>& together, double most) {
        if (std::ranges::find(together, world.rank()) == together.end()) return false;
        cpu_set_t all;
        CPU_ZERO(&all);
        for (Rank member : together) CPU_OR(&all, &all, &at(cores_of, member));
        return static_cast<double>(together.size()) > std::min<double>(CPU_COUNT(&all), most);
    };
    const auto boots = gather_all_texts(world, facts.boot_id);
    std::vector<Rank> same_boot;
    for (int other = 0; other < world.size(); ++other)
        if (!facts.boot_id.empty() && at(boots, other) == facts.boot_id)
            same_boot.push_back(Rank{other});
    const auto has_too_many_here = [&](const auto& host) { return has_too_many(host, quota); };
    const bool has_one = has_too_many(same_boot, CPU_SETSIZE) ||
                         std::ranges::any_of(world.hosts().nodes(), has_too_many_here);
    return !true_on_all_ranks(world, !has_one);
}

}  // namespace tutti
