// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "results/statistics/interval.hpp"

namespace tutti {
namespace {

// Student's t, 97.5 %, of 1, 2, ... degrees of freedom.
constexpr double t975[] = {12.706, 4.303, 3.182, 2.776};

// How far the mean may be off by the intervals within those launches that have one.
double reach_within(std::span<const LogValue> launches, double LogValue::*side) {
    double squares = 0;
    int known = 0;
    for (const LogValue& launch : launches) {
        if (!std::isfinite(launch.*side)) continue;
        squares += (launch.*side) * (launch.*side);
        ++known;
    }
    return std::sqrt(squares / std::max(known, 1) / static_cast<double>(launches.size()));
}

LogValue by_students_t(std::span<const LogValue> launches) {
    const auto n = static_cast<double>(launches.size());
    double mean = 0, squares = 0;
    for (const LogValue& launch : launches) mean += launch.value / n;
    for (const LogValue& launch : launches)
        squares += (launch.value - mean) * (launch.value - mean);
    const double between = t975[launches.size() - 2] * std::sqrt(squares / (n - 1) / n);
    return {mean, std::max(between, reach_within(launches, &LogValue::below)),
            std::max(between, reach_within(launches, &LogValue::above))};
}

LogValue by_order_statistics(std::span<const LogValue> launches) {
    std::vector<double> sorted;
    for (const LogValue& launch : launches) sorted.push_back(launch.value);
    std::ranges::sort(sorted);
    const auto n = static_cast<double>(sorted.size());
    const double reach = 1.96 * std::sqrt(n);
    const auto at_place = [&](double place) {  // counted from 1
        return sorted[static_cast<std::size_t>(std::clamp(place, 1.0, n)) - 1];
    };
    const double middle = median(sorted);
    return {middle, middle - at_place(std::floor((n - reach) / 2)),
            at_place(std::ceil(1 + (n + reach) / 2)) - middle};
}

}  // namespace

bool is_near(const Ratio& time, const Ratio& best) {
    constexpr double near = 1.1;
    return time.value <= std::max(best.high, near * best.value);
}

LogValue log_of_median(const Summary& time) {
    const auto p50 = static_cast<double>(time.p50);
    const double value = std::log(std::max(p50, least_ns));
    if (time.n < least_of_interval) {
        const double unknown = std::numeric_limits<double>::infinity();
        return {value, unknown, unknown};
    }
    const double low = std::min(static_cast<double>(time.ci95_lo), p50 - 0.5);
    const double high = std::max(static_cast<double>(time.ci95_hi), p50 + 0.5);
    return {value, value - std::log(std::max(low, least_ns)), std::log(high) - value};
}

LogValue log_ratio(const LogValue& above, const LogValue& below) {
    return {above.value - below.value, std::hypot(above.below, below.above),
            std::hypot(above.above, below.below)};
}

LogValue mean_of(std::span<const LogValue> ratios) {
    const auto n = static_cast<double>(ratios.size());
    LogValue mean;
    for (const LogValue& ratio : ratios) {
        mean.value += ratio.value / n;
        mean.below = std::hypot(mean.below, ratio.below / n);
        mean.above = std::hypot(mean.above, ratio.above / n);
    }
    return mean;
}

std::optional<Ratio> over_launches(std::span<const LogValue> launches) {
    if (launches.empty()) return std::nullopt;
    const LogValue all = launches.size() == 1                  ? launches[0]
                         : launches.size() < least_of_interval ? by_students_t(launches)
                                                               : by_order_statistics(launches);
    const auto exp = [](double log) { return std::exp(std::clamp(log, -700., 700.)); };
    Ratio ratio{.value = exp(all.value), .launches = static_cast<int>(launches.size())};
    if (std::isfinite(all.below) && std::isfinite(all.above)) {
        ratio.low = exp(all.value - all.below);
        ratio.high = exp(all.value + all.above);
    }
    return ratio;
}

}  // namespace tutti
