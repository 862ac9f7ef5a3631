// SPDX-License-Identifier: Apache-2.0
#include "results/summary/step_ranking.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "results/summary/setups.hpp"

namespace tutti {
namespace {

double median_of_steps(const RankedMethod& method, Summary TrainingStep::*part) {
    std::vector<double> values;
    for (const TrainingStep* step : method.steps)
        values.push_back(static_cast<double>((step->*part).p50));
    return median(std::move(values));
}

std::optional<Ratio> compared_steps(const RankedMethod& above, const RankedMethod& below) {
    std::vector<LogValue> ratios;
    for (const TrainingStep* one : above.steps)
        for (const TrainingStep* other : below.steps)
            if (launch_of(*one) == launch_of(*other))
                ratios.push_back(log_ratio(log_of_median(one->step), log_of_median(other->step)));
    return over_launches(ratios);
}

}  // namespace

std::vector<RankedMethod> ranked_methods(std::span<const TrainingStep* const> steps) {
    std::map<std::string, std::map<LaunchId, const TrainingStep*>> measured;
    for (const TrainingStep* step : steps)
        if (!step->skipped && step->check.state != CheckState::fail)
            measured[step->key.method][launch_of(*step)] = step;
    std::vector<RankedMethod> methods;
    for (const auto& [name, by_launch] : measured) {
        RankedMethod& method = methods.emplace_back();
        method.name = name;
        std::vector<LogValue> times;
        for (const auto& [launch, step] : by_launch) {
            method.steps.push_back(step);
            times.push_back(log_of_median(step->step));
        }
        method.time = *over_launches(times);
        method.step_ns = median_of_steps(method, &TrainingStep::step);
        method.compute_ns = median_of_steps(method, &TrainingStep::compute);
        method.communication_ns = median_of_steps(method, &TrainingStep::communication);
        method.exposed_ns = median_of_steps(method, &TrainingStep::exposed);
    }
    std::ranges::stable_sort(methods, {}, &RankedMethod::step_ns);
    for (RankedMethod& method : methods) {
        const RankedMethod& best = methods.front();
        const bool is_best = &method == &best;
        method.over_best = compared_steps(method, best);
        const bool is_known = method.over_best && method.over_best->is_known();
        method.is_unknown = !is_best && !is_known;
        method.is_tied = is_best || (is_known ? !method.over_best->is_significant()
                                              : is_near(method.time, best.time));
    }
    return methods;
}

}  // namespace tutti
