// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/launch_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tutti {
namespace {

constexpr std::size_t order_statistics_from = 6;
// Student's t, 97.5 %, of 1, 2, ... degrees of freedom.
constexpr double t975[] = {12.706, 4.303, 3.182, 2.776};

LogInterval by_students_t(std::span<const double> logs) {
    const auto n = static_cast<double>(logs.size());
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
    double squares = 0;
    for (const double log : logs) squares += (log - mean) * (log - mean);
    const double half = t975[logs.size() - 2] * std::sqrt(squares / (n - 1) / n);
    return {mean, mean - half, mean + half};
}

LogInterval by_order_statistics(std::span<const double> logs) {
    std::vector<double> sorted(logs.begin(), logs.end());
    std::ranges::sort(sorted);
    const auto n = static_cast<double>(logs.size());
    const double reach = 1.96 * std::sqrt(n);
    const auto at_place = [&](double place) {  // counted from 1
        return sorted[static_cast<std::size_t>(std::clamp(place, 1.0, n)) - 1];
    };
    const double middle =
        (at_place(std::floor((n + 1) / 2)) + at_place(std::ceil((n + 1) / 2))) / 2;
    return {middle, at_place(std::floor((n - reach) / 2)),
            at_place(std::ceil(1 + (n + reach) / 2))};
}

}  // namespace

LogInterval over_launches(std::span<const double> logs) {
    return logs.size() < order_statistics_from ? by_students_t(logs) : by_order_statistics(logs);
}

}  // namespace tutti
