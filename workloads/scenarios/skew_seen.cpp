// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/skew_seen.hpp"

#include <algorithm>

namespace tutti {
namespace {

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

std::int64_t slowest(const Program& program, std::int64_t number) {
    std::int64_t most = 0;
    for (int rank = 0; rank < program.ranks(); ++rank)
        most = std::max(most, compute_ns_of_step(program, Rank{rank}, number));
    return most;
}

}  // namespace

void SkewSeen::add(std::int64_t number, const StepTimes& even, const StepTimes& uneven) {
    even_ms_.push_back(ms(even.step));
    ratio_.push_back(ms(uneven.step) / std::max(ms(even.step), 1e-6));
    wait_ms_.push_back(ms(uneven.wait - even.wait));
    growth_ms_.push_back(ms(uneven.step - even.step));
    skew_ms_.push_back(ms(slowest(uneven_, number) - slowest(even_, number)));
}

std::vector<Metric> SkewSeen::metrics() const {
    const double skew = median(skew_ms_);
    std::vector<Metric> all{{"unskewed_step_ms", median(even_ms_)},
                            {"step_over_unskewed", median(ratio_)},
                            {"wait_added_ms", median(wait_ms_)},
                            {"skew_ms", skew}};
    if (skew > 0) all.push_back({"sensitivity", median(growth_ms_) / skew});
    return all;
}

}  // namespace tutti
