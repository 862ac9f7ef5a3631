// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/skew_effect.hpp"

#include <algorithm>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

double median_or_0(const std::vector<double>& values) {
    return values.empty() ? 0 : median(values);
}

std::int64_t slowest(const Program& program, std::int64_t number) {
    std::int64_t most = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
        most = std::max(most, compute_ns_of_step(program, Rank{rank}, number));
    return most;
}

}  // namespace

void SkewEffect::add(std::int64_t number, const StepTimes& even, const StepTimes& uneven) {
    even_ms_.push_back(ms(even.step));
    ratio_.push_back(ms(uneven.step) / std::max(ms(even.step), 1e-6));
    wait_ms_.push_back(ms(uneven.wait - even.wait));
    growth_ms_.push_back(ms(uneven.step - even.step));
    skew_ms_.push_back(ms(slowest(uneven_, number) - slowest(even_, number)));
}

std::vector<Metric> SkewEffect::metrics() const {
    const double skew = median_or_0(skew_ms_);
    std::vector<Metric> all{{"unskewed_step_ms", median_or_0(even_ms_)},
                            {"step_over_unskewed", median_or_0(ratio_)},
                            {"wait_added_ms", median_or_0(wait_ms_)},
                            {"skew_ms", skew}};
    if (skew > 0) all.push_back({"sensitivity", median_or_0(growth_ms_) / skew});
    return all;
}

}  // namespace tutti
