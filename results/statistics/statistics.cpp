// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/index.hpp"
#include "results/statistics/interval.hpp"

namespace tutti {
namespace {

using Samples = std::span<const std::int64_t>;

std::vector<std::int64_t> sorted_copy(Samples samples) {
    std::vector<std::int64_t> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

// The value a fraction of the way from the smallest to the largest: what numpy and R do by default.
std::int64_t quantile(Samples sorted, double fraction) {
    const double place = fraction * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const auto step = static_cast<double>(sorted[above] - sorted[below]);
    return sorted[below] + std::llround((place - static_cast<double>(below)) * step);
}

double mean_of(Samples samples) {
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
}

// Sum over i of (x_i - mean)(x_(i+lag) - mean): the variance for lag 0, what neighbours share for
// lag 1.
double co_moment(Samples samples, double mean, std::size_t lag) {
    double sum = 0;
    for (std::size_t i = lag; i < samples.size(); ++i)
        sum += (static_cast<double>(samples[i]) - mean) *
               (static_cast<double>(samples[i - lag]) - mean);
    return sum;
}

// By how much likeness of neighbours widens an interval that takes them for independent.
double widening(double rho1) {
    if (rho1 <= 0) return 1;
    if (rho1 >= 0.8) return 3;  // sqrt(1.8 / 0.2)
    return std::sqrt((1 + rho1) / (1 - rho1));
}

struct OrderPair {
    std::size_t lo;
    std::size_t hi;
};

// The two sorted samples (from 0) that enclose the median in 95 of 100 series.
OrderPair median_interval(std::size_t n, double rho1) {
    const auto count = static_cast<double>(n);
    const double reach = 1.96 * widening(rho1) * std::sqrt(count);
    const double lo = std::floor((count - reach) / 2);  // counted from 1
    const double hi = std::ceil(1 + (count + reach) / 2);
    return {static_cast<std::size_t>(std::clamp(lo, 1.0, count)) - 1,
            static_cast<std::size_t>(std::clamp(hi, 1.0, count)) - 1};
}

}  // namespace

Summary summarise(Samples samples) {
    Summary summary;
    if (samples.empty()) return summary;

    const auto sorted = sorted_copy(samples);
    summary.n = sorted.size();
    summary.min = sorted.front();
    summary.p05 = quantile(sorted, 0.05);
    summary.p25 = quantile(sorted, 0.25);
    summary.p50 = quantile(sorted, 0.50);
    summary.p75 = quantile(sorted, 0.75);
    summary.p95 = quantile(sorted, 0.95);
    summary.p99 = quantile(sorted, 0.99);
    summary.max = sorted.back();

    summary.mean = mean_of(samples);
    const double moment = co_moment(samples, summary.mean, 0);
    if (summary.n > 1) summary.sd = std::sqrt(moment / static_cast<double>(summary.n - 1));
    if (moment > 0) summary.rho1 = co_moment(samples, summary.mean, 1) / moment;

    const auto [lo, hi] = median_interval(summary.n, summary.rho1);
    summary.ci95_lo = sorted[lo];
    summary.ci95_hi = sorted[hi];

    const std::int64_t fence = summary.p75 + 3 * (summary.p75 - summary.p25);
    summary.n_slow = as_size(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), fence));
    return summary;
}

double half_width(const Summary& summary) {
    if (summary.n > 0 && summary.n < least_of_interval)
        return std::numeric_limits<double>::infinity();
    const auto width = static_cast<double>(summary.ci95_hi - summary.ci95_lo);
    if (width == 0) return 0;
    if (summary.p50 == 0) return std::numeric_limits<double>::infinity();
    return width / (2 * static_cast<double>(summary.p50));
}

std::size_t warm_prefix(Samples samples) {
    constexpr std::size_t window = 5;
    if (samples.size() < window) return 0;
    const auto steady = static_cast<double>(median(samples.subspan(samples.size() / 2)));
    const std::size_t most = samples.size() / 5;
    std::size_t prefix = 0;
    const auto at_prefix = [&] {
        return static_cast<double>(median(samples.subspan(prefix, window)));
    };
    while (prefix < most && at_prefix() > 1.10 * steady) ++prefix;
    return prefix;
}

std::int64_t quantile_of(Samples values, double fraction) {
    return quantile(sorted_copy(values), fraction);
}

std::int64_t median(Samples values) { return quantile_of(values, 0.5); }

double midmean(Samples values) {
    const auto sorted = sorted_copy(values);
    const std::size_t left_out = (sorted.size() + 1) / 4;  // at each end
    return mean_of(Samples(sorted).subspan(left_out, sorted.size() - 2 * left_out));
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double theil_sen_slope(std::span<const double> x, std::span<const double> y) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = i + 1; j < x.size(); ++j)
            if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    return slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace tutti
