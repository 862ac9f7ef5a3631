// SPDX-License-Identifier: Apache-2.0
#include "results/tables/over_launches.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "results/records/share_of_limit.hpp"
#include "results/statistics/bandwidth.hpp"

namespace tutti {
namespace {

// Those of one key, in the order of the launches.
template <class Result>
std::vector<std::vector<const Result*>> by_key(std::span<const Result> results) {
    std::vector<std::vector<const Result*>> groups;
    std::map<decltype(Result::key), std::size_t> group_of;
    for (const Result& result : results) {
        const auto [known, is_new] = group_of.try_emplace(result.key, groups.size());
        if (is_new) groups.emplace_back();
        groups[known->second].push_back(&result);
    }
    return groups;
}

// Nothing is better than it was in the worst launch.
void add_check(Check& check, const Check& of_launch) {
    check.n_wrong += of_launch.n_wrong;
    if (of_launch.state == CheckState::fail || check.state == CheckState::ok)
        check.state = of_launch.state;
}

// The middle one of what the launches know; of an even number the lower one. Nothing if none knows.
template <class Value, class Order = std::less<>>
std::optional<Value> middle(const std::vector<const Point*>& launches,
                            std::optional<Value> Measured::*member, Order order = {}) {
    std::vector<Value> known;
    for (const Point* point : launches)
        if (point->measured.*member) known.push_back(*(point->measured.*member));
    if (known.empty()) return std::nullopt;
    const auto at = known.begin() + (std::ssize(known) - 1) / 2;
    std::ranges::nth_element(known, at, order);
    return *at;
}

bool moved_less(const NetworkBytes& one, const NetworkBytes& other) {
    const auto most = [](const NetworkBytes& of) {
        return std::max(of.tx_per_call, of.rx_per_call);
    };
    return most(one) < most(other);
}

Point over(const std::vector<const Point*>& launches) {
    Point all = *launches.front();
    all.measured = {.start = all.measured.start,
                    .from = all.measured.from,
                    .calls_of_sample = all.measured.calls_of_sample,
                    .network_bytes = middle(launches, &Measured::network_bytes, moved_less),
                    .energy_J = middle(launches, &Measured::energy_J),
                    .gpu_energy_J = middle(launches, &Measured::gpu_energy_J),
                    .check = {.state = CheckState::ok}};
    all.levels.clear();  // times of single calls
    auto& medians = all.measured.samples;
    double least_ns = std::numeric_limits<double>::infinity();
    for (const Point* point : launches) {
        if (point->skipped && !all.skipped) all.skipped = point->skipped;
        medians.push_back(point->time.p50);
        if (point->limit_ns) least_ns = std::min(least_ns, *point->limit_ns);
        add_check(all.measured.check, point->measured.check);
    }
    if (all.skipped) return all;
    all.time = summarise(medians);
    const auto median_ns = static_cast<double>(all.time.p50);
    all.bandwidth =
        bandwidth(all.key.coll, all.key.nranks, all.key.bytes, median_ns, all.key.blocks);
    if (std::isfinite(least_ns)) set_limit(all, least_ns);
    return all;
}

TrainingStep over(const std::vector<const TrainingStep*>& launches) {
    TrainingStep all = *launches.front();
    all.samples.reset();
    all.check = {.state = CheckState::ok};
    for (const TrainingStep* step : launches) {
        if (step->skipped && !all.skipped) all.skipped = step->skipped;
        add_check(all.check, step->check);
    }
    if (all.skipped) return all;
    for (auto part : {&TrainingStep::step, &TrainingStep::compute, &TrainingStep::communication,
                      &TrainingStep::exposed, &TrainingStep::computing, &TrainingStep::wait,
                      &TrainingStep::work}) {
        std::vector<std::int64_t> medians;
        for (const TrainingStep* step : launches) medians.push_back((step->*part).p50);
        all.*part = summarise(medians);
    }
    derive(all);
    return all;
}

}  // namespace

std::vector<PointOverLaunches> over_launches(std::span<const Point> points) {
    std::vector<PointOverLaunches> all;
    for (const auto& launches : by_key(points))
        all.push_back({static_cast<int>(launches.size()), over(launches)});
    return all;
}

std::vector<StepOverLaunches> over_launches(std::span<const TrainingStep> steps) {
    std::vector<StepOverLaunches> all;
    for (const auto& launches : by_key(steps))
        all.push_back({static_cast<int>(launches.size()), over(launches)});
    return all;
}

}  // namespace tutti
