// SPDX-License-Identifier: Apache-2.0
#include "results/stored/two_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/index.hpp"
#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_exact = 50;  // values in all

// Returns the rank of each value among all, doubled so that the ranks of ties are whole numbers.
std::vector<int> doubled_ranks_among(const std::vector<double>& values) {
    std::vector<double> sorted = values;
    std::ranges::sort(sorted);
    std::vector<int> ranks;
    for (const double value : values) {
        // Not the one of ranges: Clang 14 cannot compile libstdc++'s.
        const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
        ranks.push_back(static_cast<int>((first - sorted.begin()) + 1 + (last - sorted.begin())));
    }
    return ranks;
}

// Counts the sums of n ranks drawn from all; each way of drawing them is equally likely.
std::vector<double> exact_distribution(const std::vector<int>& ranks, std::size_t drawn) {
    const auto most = as_size(std::accumulate(ranks.begin(), ranks.end(), 0));
    std::vector<std::vector<double>> ways(drawn + 1, std::vector<double>(most + 1));
    ways[0][0] = 1;
    for (const int rank : ranks)
        for (std::size_t count = drawn; count > 0; --count)
            for (std::size_t sum = as_size(rank); sum <= most; ++sum)
                ways[count][sum] += ways[count - 1][sum - as_size(rank)];
    std::vector<double> likely = std::move(ways[drawn]);
    const double all = std::accumulate(likely.begin(), likely.end(), 0.);
    for (double& one : likely) one /= all;
    return likely;
}

std::vector<double> normal_distribution(const std::vector<int>& ranks, std::size_t drawn) {
    const auto n = static_cast<double>(ranks.size()), k = static_cast<double>(drawn);
    const double all = std::accumulate(ranks.begin(), ranks.end(), 0.);
    double squares = 0;
    for (const int rank : ranks) squares += std::pow(rank - all / n, 2);
    const double deviation = std::sqrt(std::max(k * (1 - k / n) * squares / (n - 1), 1e-9));
    const auto below = [&](double sum) {
        return std::erfc((k * all / n - sum) / (deviation * std::sqrt(2))) / 2;
    };
    std::vector<double> likely(static_cast<std::size_t>(all) + 1);
    // Where no doubled rank is odd, no sum is.
    const bool any_odd = std::ranges::any_of(ranks, [](int rank) { return rank % 2 != 0; });
    const std::size_t step = any_odd ? 1 : 2;
    const double half_step = static_cast<double>(step) / 2;
    for (std::size_t sum = 0; sum < likely.size(); ++sum) {
        const auto at = static_cast<double>(sum);
        if (sum % step == 0) likely[sum] = below(at + half_step) - below(at - half_step);
    }
    return likely;
}

std::vector<double> distribution(const std::vector<int>& ranks, std::size_t drawn) {
    return ranks.size() <= most_exact ? exact_distribution(ranks, drawn)
                                      : normal_distribution(ranks, drawn);
}

double p_between(std::span<const double> a, std::span<const double> b) {
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    const std::vector<int> ranks = doubled_ranks_among(all);
    const int observed =
        std::accumulate(ranks.begin() + static_cast<long>(a.size()), ranks.end(), 0);
    const std::vector<double> likely = distribution(ranks, b.size());
    const auto at = likely.begin() + observed;
    return std::min({1., 2 * std::accumulate(likely.begin(), at + 1, 0.),
                     2 * std::accumulate(at, likely.end(), 0.)});
}

// Returns how many of the least and of the largest differences are outside of the interval; 0 if
// all of them are too few.
std::size_t differences_outside(std::size_t of_a, std::size_t of_b, double confidence) {
    std::vector<int> ranks(of_a + of_b);
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = 2 * static_cast<int>(i + 1);
    const std::vector<double> likely = distribution(ranks, of_b);
    const std::size_t least = of_b * (of_b + 1);
    double tail = std::accumulate(likely.begin(), likely.begin() + static_cast<long>(least), 0.);
    std::size_t outside = 0;
    for (std::size_t sum = least; sum + 1 < likely.size(); sum += 2, ++outside) {
        tail += likely[sum];
        if (2 * tail > 1 - confidence) break;
        tail += likely[sum + 1];  // 0, but for the normal distribution's
    }
    return outside;
}

}  // namespace

Shift shift_between(std::span<const double> a, std::span<const double> b, double confidence) {
    Shift shift{.n = std::min(a.size(), b.size())};
    if (shift.n == 0) return shift;
    std::vector<double> differences;
    for (const double of_b : b)
        for (const double of_a : a) differences.push_back(of_b - of_a);
    std::ranges::sort(differences);
    shift.estimate = median(differences);
    shift.p = p_between(a, b);
    const std::size_t outside = differences_outside(a.size(), b.size(), confidence);
    const double infinity = std::numeric_limits<double>::infinity();
    shift.low = outside == 0 ? -infinity : differences[outside - 1];
    shift.high = outside == 0 ? infinity : differences[differences.size() - outside];
    return shift;
}

int least_of_each(double p) {
    int least = 1;
    for (double ways = 2; 2 / ways > p; ++least)  // ways to draw half of them: (2n over n)
        ways *= 2 * (2 * least + 1.) / (least + 1);
    return least;
}

}  // namespace tutti
