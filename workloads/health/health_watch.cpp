// SPDX-License-Identifier: Apache-2.0
#include "workloads/health/health_watch.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "results/records/record.hpp"

namespace tutti {
namespace {

RankLook look_at(const World& world, const std::filesystem::path& root) {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);  // of a rank that is a thread its own
    const int cpu = sched_getcpu();
    return {.rank = world.rank().index,
            .cpu = cpu,
            .clock = cpu_clock(cpu, root).value_or(CpuClock{}),
            .preemptions = usage.ru_nivcsw};
}

}  // namespace

HealthWatch::HealthWatch(World& world, const std::filesystem::path& root,
                         const std::filesystem::path& nvml)
    : world_(world), root_(root) {
    std::string why_not;
    if (world.is_leader()) driver_ = NvmlLibrary::load(nvml, why_not);
    first_ = look();
    at_begin_ = of_all_hosts(health_at(first_));
}

std::vector<HostHealth> HealthWatch::since() const {
    const Cores cores = world_.oversubscribed ? Cores::shared : Cores::one_each;
    return of_all_hosts(health_between(first_, look(), cores));
}

// Complete on the first rank of a host.
HostLook HealthWatch::look() const {
    HostLook look;
    const auto ranks = gather_all(world_, look_at(world_, root_));
    if (!world_.is_leader()) return look;
    look.at_ns = now_ns();
    for (const Rank rank : world_.ranks_of_host()) look.ranks.push_back(ranks[as_size(rank)]);
    look.counters = read_host_counters(root_);
    if (driver_) look.gpus = gpu_conditions(*driver_);
    return look;
}

// A host's health travels as the end of a launch that has just this host.
std::vector<HostHealth> HealthWatch::of_all_hosts(HostHealth mine) const {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    mine.host = name;
    End of_this_host;
    if (world_.is_leader() && !mine.readings.empty())
        of_this_host.health.push_back(std::move(mine));
    std::vector<HostHealth> all;
    for (const std::string& text : gather_all_texts(world_, to_json_line(of_this_host))) {
        const End of_host = std::get<End>(parse_json_line(text));
        all.insert(all.end(), of_host.health.begin(), of_host.health.end());
    }
    return all;
}

}  // namespace tutti
