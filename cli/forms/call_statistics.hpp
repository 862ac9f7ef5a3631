// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// What nccl-tests says of the calls of a size, by its definitions: percentiles are times that were
/// measured (the nearest rank), and the deviation is that of these calls (divided by n), where
/// tutti's own records interpolate and divide by n - 1.
struct CallStatistics {
    std::int64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
    double mean_ns = 0, stdev_ns = 0;
    double cv_percent() const { return mean_ns > 0 ? 100 * stdev_ns / mean_ns : 0; }
};

/// All 0 of no calls.
inline CallStatistics statistics_of_calls(std::span<const std::int64_t> times_ns) {
    if (times_ns.empty()) return {};
    std::vector<std::int64_t> sorted(times_ns.begin(), times_ns.end());
    std::ranges::sort(sorted);
    const auto n = static_cast<double>(sorted.size());
    const auto nearest_rank = [&](double percent) {
        return sorted[static_cast<std::size_t>(std::ceil(n * percent / 100)) - 1];
    };
    double sum = 0, squares = 0;
    for (const std::int64_t time : sorted) sum += static_cast<double>(time);
    for (const std::int64_t time : sorted)
        squares += std::pow(static_cast<double>(time) - sum / n, 2);
    return {sorted[sorted.size() / 2], nearest_rank(95), nearest_rank(99), sum / n,
            std::sqrt(squares / n)};
}

}  // namespace tutti
