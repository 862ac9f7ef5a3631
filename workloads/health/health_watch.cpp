// SPDX-License-Identifier: Apache-2.0
#include "workloads/health/health_watch.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "base/rounding.hpp"
#include "results/records/record.hpp"

namespace tutti {
namespace {

// Rounds to tenths, the accuracy of a reading.
double in_units(std::int64_t part, double unit) {
    return unit > 0 ? to_tenths(static_cast<double>(part) / unit) : 0;
}

double in_percent(std::int64_t part, std::int64_t of) {
    return in_units(part, static_cast<double>(of) / 100);
}

// Returns 0 for a counter that was reset or ran backwards.
std::int64_t growth(std::int64_t before, std::int64_t after) {
    return std::max<std::int64_t>(after - before, 0);
}

double share_of(const CpuClock& clock) {
    return clock.now / (clock.base > 0 ? clock.base : clock.most);
}

void add_slowest_clock(HostHealth& health, const std::vector<RankLook>& ranks) {
    const RankLook* slowest = nullptr;
    for (const RankLook& rank : ranks)
        if (rank.clock.now > 0 &&
            (slowest == nullptr || share_of(rank.clock) < share_of(slowest->clock)))
            slowest = &rank;
    if (slowest == nullptr) return;
    const CpuClock& clock = slowest->clock;
    health.add(clock.base > 0 ? "clock_pct_of_base" : "clock_pct_of_most",
               std::round(100 * share_of(clock)),
               fmt::format("CPU {} ran at {:.0f} of at most {:.0f} MHz", slowest->cpu, clock.now,
                           clock.most));
}

void add_slowed_gpus(HostHealth& health, const std::vector<GpuCondition>& gpus) {
    for (const GpuCondition& gpu : gpus)
        if (!gpu.slowed_by.empty())
            health.add("gpu_slowed", 1, fmt::format("{} ({})", gpu.name, gpu.slowed_by));
}

void add_preemptions(HostHealth& health, const HostLook& before, const HostLook& after) {
    const double seconds = static_cast<double>(after.at_ns - before.at_ns) * 1e-9;
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; i < after.ranks.size(); ++i)
        times.push_back(growth(before.ranks[i].preemptions, after.ranks[i].preemptions));
    const auto most = std::ranges::max_element(times);
    if (most == times.end()) return;
    health.add("preemptions_per_s", in_units(*most, seconds),
               fmt::format("rank {}", after.ranks[as_size(most - times.begin())].rank));
}

void add_link_errors(HostHealth& health, const HostCounters& before, const HostCounters& after) {
    for (const auto& [link, errors] : after.link_errors) {
        const auto then = before.link_errors.find(link);
        if (then != before.link_errors.end())
            health.add("link_errors", static_cast<double>(growth(then->second, errors)), link);
    }
}

void add_ecc_errors(HostHealth& health, const std::vector<GpuCondition>& before,
                    const std::vector<GpuCondition>& after) {
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        const auto grew = [&](std::int64_t GpuCondition::*errors) {
            return static_cast<double>(growth(before[i].*errors, after[i].*errors));
        };
        health.add("ecc_corrected", grew(&GpuCondition::ecc_corrected), after[i].name);
        health.add("ecc_uncorrected", grew(&GpuCondition::ecc_uncorrected), after[i].name);
    }
}

}  // namespace

HostHealth health_at(const HostLook& look) {
    HostHealth health;
    add_slowest_clock(health, look.ranks);
    add_slowed_gpus(health, look.gpus);
    health.add("memory_pressure_pct", look.counters.memory_pressure_pct);
    health.add("swap_used_MiB", in_units(look.counters.swap_used.count, 1 << 20));
    for (const GpuCondition& gpu : look.gpus)
        health.add("ecc_uncorrected", static_cast<double>(gpu.ecc_uncorrected), gpu.name);
    return health;
}

HostHealth health_between(const HostLook& before, const HostLook& after, Cores cores) {
    HostHealth health;
    add_slowest_clock(health, after.ranks);
    add_slowed_gpus(health, after.gpus);
    const auto grew = [&](std::int64_t HostCounters::*counter) {
        return growth(before.counters.*counter, after.counters.*counter);
    };
    const std::int64_t took_us = (after.at_ns - before.at_ns) / 1000;
    health.add("steal_pct",
               in_percent(grew(&HostCounters::stolen_ticks), grew(&HostCounters::ticks)));
    health.add("memory_stall_pct", in_percent(grew(&HostCounters::memory_stall_us), took_us));
    if (cores == Cores::one_each) {
        health.add("cpu_stall_pct", in_percent(grew(&HostCounters::cpu_stall_us), took_us));
        add_preemptions(health, before, after);
    }
    health.add("swapped_pages", static_cast<double>(grew(&HostCounters::swapped_pages)));
    health.add("thermal_throttles", static_cast<double>(grew(&HostCounters::thermal_throttles)));
    add_link_errors(health, before.counters, after.counters);
    add_ecc_errors(health, before.gpus, after.gpus);
    return health;
}

namespace {

RankLook look_at(const World& world, const std::filesystem::path& root) {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);  // one thread is one rank
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

// Returns a complete look on the first rank of a host.
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

// A host's health is sent as the end of a launch that has only this host.
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
