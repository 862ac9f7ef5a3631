// SPDX-License-Identifier: Apache-2.0
#include "results/comparison/step_rounds.hpp"

#include <algorithm>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

using Rows = std::vector<std::vector<double>>;

std::vector<double> medians_of_columns(const Rows& rows) {
    std::vector<double> medians;
    for (std::size_t column = 0; column < rows.front().size(); ++column) {
        std::vector<double> values;
        for (const auto& row : rows) values.push_back(row[column]);
        medians.push_back(median(values));
    }
    return medians;
}

}  // namespace

std::size_t StepGrowth::grew_most() const {
    return static_cast<std::size_t>(std::ranges::max_element(grew_ns) - grew_ns.begin());
}

void StepRounds::add(const QuadOf<std::vector<std::int64_t>>& quad) {
    const auto& [a1, b1, b2, a2, a_first] = quad;
    const std::size_t steps = a_ns_.empty() ? a1.size() : a_ns_.front().size();
    for (const auto* block : {&a1, &b1, &b2, &a2})
        are_alike_ = are_alike_ && block->size() == steps;
    if (!are_alike_) return;
    const auto mean = [&](const auto& first, const auto& second, std::size_t step) {
        const auto took = [&](const auto& ends) {
            return static_cast<double>(ends[step] - (step == 0 ? 0 : ends[step - 1]));
        };
        return (took(first) + took(second)) / 2;
    };
    auto& a = a_ns_.emplace_back();
    auto& b = b_ns_.emplace_back();
    auto& grew = grew_ns_.emplace_back();
    for (std::size_t step = 0; step < steps; ++step) {
        a.push_back(mean(a1, a2, step));
        b.push_back(mean(b1, b2, step));
        grew.push_back(b.back() - a.back());
    }
}

std::optional<StepGrowth> StepRounds::times() const {
    if (!are_alike_ || a_ns_.empty()) return std::nullopt;
    return StepGrowth{.launches = 1,
                      .a_ns = medians_of_columns(a_ns_),
                      .b_ns = medians_of_columns(b_ns_),
                      .grew_ns = medians_of_columns(grew_ns_)};
}

StepGrowth median_of(std::span<const StepGrowth> launches) {
    Rows a, b, grew;
    for (const StepGrowth& launch : launches) {
        a.push_back(launch.a_ns);
        b.push_back(launch.b_ns);
        grew.push_back(launch.grew_ns);
    }
    StepGrowth all = launches.front();
    all.launches = static_cast<int>(launches.size());
    all.a_ns = medians_of_columns(a);
    all.b_ns = medians_of_columns(b);
    all.grew_ns = medians_of_columns(grew);
    return all;
}

}  // namespace tutti
