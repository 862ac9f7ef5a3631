// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/signed_rank.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

// From here on the sum of ranks counts as normally distributed: the exact distribution takes time
// with the cube of the number, and its tails differ by less than a hundredth of themselves.
constexpr std::size_t many = 300;

// How likely each sum is when every rank is added or not by the throw of a coin. `ranks` are twice
// what they are, so that the ranks of ties are whole numbers.
std::vector<double> distribution_of_sums(std::span<const int> ranks) {
    std::vector<double> likely(as_size(std::accumulate(ranks.begin(), ranks.end(), 1)));
    likely[0] = 1;
    std::size_t last = 0;
    for (const int rank : ranks) {
        last += as_size(rank);
        for (std::size_t sum = last + 1; sum-- > 0;)
            likely[sum] =
                (likely[sum] + (sum >= as_size(rank) ? likely[sum - as_size(rank)] : 0)) / 2;
    }
    return likely;
}

// Returns doubled ranks of the absolute values; equal ones have the mean of their ranks.
std::vector<int> doubled_ranks(std::vector<double> values) {
    std::ranges::sort(values, {}, [](double value) { return std::abs(value); });
    std::vector<int> ranks;
    while (ranks.size() < values.size()) {
        const std::size_t first = ranks.size();
        std::size_t end = first;
        while (end < values.size() && std::abs(values[end]) == std::abs(values[first])) ++end;
        ranks.insert(ranks.end(), end - first, static_cast<int>(first + 1 + end));
    }
    return ranks;
}

double p_of(std::span<const double> differences) {
    std::vector<double> values;
    std::ranges::copy_if(differences, std::back_inserter(values),
                         [](double value) { return value != 0; });
    if (values.empty()) return 1;
    const std::vector<int> ranks = doubled_ranks(values);
    std::ranges::sort(values, {}, [](double value) { return std::abs(value); });
    int positive = 0, all = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        all += ranks[i];
        if (values[i] > 0) positive += ranks[i];
    }
    const int less = std::min(positive, all - positive);
    if (ranks.size() >= many) {
        const double variance = std::transform_reduce(ranks.begin(), ranks.end(), 0., std::plus(),
                                                      [](double rank) { return rank * rank / 4; });
        return std::min(1., std::erfc((all / 2. - less - 1) / std::sqrt(2 * variance)));
    }
    const std::vector<double> likely = distribution_of_sums(ranks);
    return std::min(1., 2 * std::accumulate(likely.begin(), likely.begin() + less + 1, 0.));
}

std::vector<double> means_of_pairs(std::span<const double> values) {
    std::vector<double> means;
    means.reserve(values.size() * (values.size() + 1) / 2);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = i; j < values.size(); ++j)
            means.push_back((values[i] + values[j]) / 2);
    std::ranges::sort(means);
    return means;
}

// Returns how many of the least and of the largest means of pairs are outside of the interval; 0 if
// all of them are too few.
std::size_t means_outside(std::size_t n, double confidence) {
    if (n >= many) {
        const auto number = static_cast<double>(n);
        const double deviation = std::sqrt(number * (number + 1) * (2 * number + 1) / 24);
        return static_cast<std::size_t>(
            std::floor(number * (number + 1) / 4 + 0.5 - two_sided_z(1 - confidence) * deviation));
    }
    std::vector<int> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 1);
    const std::vector<double> likely = distribution_of_sums(ranks);
    double tail = 0;
    std::size_t outside = 0;
    for (const double one : likely) {
        tail += one;
        if (2 * tail > 1 - confidence) break;
        ++outside;
    }
    return outside;
}

}  // namespace

double two_sided_z(double chance) {
    double low = 0, high = 10;
    for (int halved = 0; halved < 50; ++halved) {
        const double middle = (low + high) / 2;
        (std::erfc(middle / std::sqrt(2)) > chance ? low : high) = middle;
    }
    return low;
}

Shift shift_of(std::span<const double> differences, double confidence) {
    Shift shift{.n = differences.size()};
    if (differences.empty()) return shift;
    const std::vector<double> means = means_of_pairs(differences);
    shift.estimate = median(means);
    shift.p = p_of(differences);
    const std::size_t outside = means_outside(differences.size(), confidence);
    const double infinity = std::numeric_limits<double>::infinity();
    shift.low = outside == 0 ? -infinity : means[outside - 1];
    shift.high = outside == 0 ? infinity : means[means.size() - outside];
    return shift;
}

double centre_of(std::span<const double> differences) {
    return median(means_of_pairs(differences));
}

std::vector<double> adjusted_by_holm(std::span<const double> p_values) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
    std::vector<double> adjusted(p_values.size());
    double highest = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const double times = static_cast<double>(order.size() - place);
        highest = std::max(highest, std::min(1., times * p_values[order[place]]));
        adjusted[order[place]] = highest;
    }
    return adjusted;
}

}  // namespace tutti
