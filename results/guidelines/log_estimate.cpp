// SPDX-License-Identifier: Apache-2.0
#include "results/guidelines/log_estimate.hpp"

#include <algorithm>
#include <cmath>

#include "results/statistics/ratio.hpp"

namespace tutti {
namespace {

constexpr double unknown_variance = 1e6;
constexpr double as_good_as_normal = 1e5;  // degrees of freedom
constexpr double normal_975 = 1.959963984540054;

using Shares = std::vector<std::pair<double, LogEstimate>>;

// Returns an estimate that depends on others by these shares (Welch and Satterthwaite).
LogEstimate combined(double log, const Shares& shares) {
    double variance = 0, unsure = 0;
    for (const auto& [share, part] : shares) {
        const double one = share * share * part.variance;
        variance += one;
        unsure += one * one / part.freedom;
    }
    return {log, variance,
            unsure > 0 ? variance * variance / unsure : std::numeric_limits<double>::infinity()};
}

// The regularised incomplete beta function, by its continued fraction (NIST Handbook 8.17.22).
double incomplete_beta(double x, double a, double b) {
    if (x <= 0 || x >= 1) return x;
    if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(1 - x, b, a);  // converges faster
    const double front = std::exp(a * std::log(x) + b * std::log1p(-x) + std::lgamma(a + b) -
                                  std::lgamma(a) - std::lgamma(b)) /
                         a;
    double fraction = 1;  // from the last term on backwards
    for (double m = 20 + std::floor(3 * std::sqrt(std::max(a, b))); m > 0; --m) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1));
        fraction = 1 + odd / (1 + even / fraction);
    }
    return front / fraction;
}

}  // namespace

double LogEstimate::value() const { return std::exp(log); }

std::pair<double, double> LogEstimate::interval() const {
    // Degrees of freedom are rounded down to tenths, so that an interval is not too narrow.
    const double half = std::sqrt(variance) * student_975(std::floor(10 * freedom) / 10);
    return {std::exp(log - half), std::exp(log + half)};
}

double LogEstimate::chance_within(double limit) const {
    const double above = log - std::log(limit);
    if (above <= 0) return 1;
    return variance > 0 ? two_tails(above / std::sqrt(variance), freedom) : 0;
}

LogEstimate estimate_of(const Summary& time) {
    const double median = std::max(static_cast<double>(time.p50), 1.);
    if (std::isinf(log_of_median(time).below)) return {std::log(median), unknown_variance};
    const auto [first, second] = std::minmax(time.ci95_lo, time.ci95_hi);
    const double low = std::max(static_cast<double>(first) - 0.5, median / 1e3);
    const double high = static_cast<double>(second) + 0.5;
    const double deviation = std::log(high / low) / 2 / normal_975;
    return {std::log(median), deviation * deviation};
}

LogEstimate mean_over_launches(std::span<const LogEstimate> launches) {
    if (launches.size() == 1) return launches.front();
    const auto count = static_cast<double>(launches.size());
    double mean = 0, squares = 0, known = 0, of_known = 0;
    for (const LogEstimate& one : launches) mean += one.log / count;
    for (const LogEstimate& one : launches) {
        squares += (one.log - mean) * (one.log - mean);
        if (one.variance >= unknown_variance) continue;
        known += one.variance;
        ++of_known;
    }
    const double within = known / std::max(of_known, 1.);
    return {mean, std::max(squares / (count - 1), within) / count, count - 1};
}

LogEstimate total(std::span<const std::pair<double, LogEstimate>> parts) {
    double whole = 0;
    for (const auto& [times, part] : parts) whole += times * part.value();
    Shares shares;
    for (const auto& [times, part] : parts) shares.emplace_back(times * part.value() / whole, part);
    return combined(std::log(whole), shares);
}

LogEstimate ratio(const LogEstimate& above, const LogEstimate& below) {
    return combined(above.log - below.log, {{1, above}, {1, below}});
}

double two_tails(double t, double freedom) {
    if (freedom > as_good_as_normal) return std::erfc(std::abs(t) / std::sqrt(2.));
    return incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

double student_975(double freedom) {
    if (freedom > as_good_as_normal) return normal_975;
    double low = 0, high = 1;
    const auto is_below = [&](double t) { return two_tails(t, freedom) > 0.05; };
    while (is_below(high) && high < 1e12) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 50; ++i) {
        const double middle = (low + high) / 2;
        (is_below(middle) ? low : high) = middle;
    }
    return high;
}

}  // namespace tutti
