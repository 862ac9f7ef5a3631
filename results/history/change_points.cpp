// SPDX-License-Identifier: Apache-2.0
#include "results/history/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "results/statistics/statistics.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_tested = 1000;

// Returns the clearest cut within the segments between neighbouring `cuts`.
Cut best_of_segments(std::span<const double> values, std::span<const std::size_t> cuts) {
    Cut best;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        Cut cut = best_cut(values.subspan(cuts[i], cuts[i + 1] - cuts[i]));
        if (cut.first == 0 || (best.first > 0 && cut.clarity < best.clarity)) continue;
        best = {cut.clarity, cut.first + cuts[i]};
    }
    return best;
}

// Fisher-Yates; std::shuffle differs between libraries.
void shuffle(std::span<double> values, std::mt19937_64& random) {
    for (std::size_t left = values.size(); left > 1; --left)
        std::swap(values[left - 1], values[random() % left]);
}

// Returns the share of random orders within the segments whose best cut is as clear; 1 as soon as
// it exceeds the level.
double chance_of(double clarity, std::span<const double> values, std::span<const std::size_t> cuts,
                 const ChangeTest& test, std::mt19937_64& random) {
    constexpr double rounding = 1e-9;
    std::vector<double> shuffled(values.begin(), values.end());
    int as_clear = 1;  // the series itself
    for (int i = 0; i < test.permutations; ++i) {
        for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
            shuffle(std::span(shuffled).subspan(cuts[k], cuts[k + 1] - cuts[k]), random);
        if (best_of_segments(shuffled, cuts).clarity >= clarity * (1 - rounding)) ++as_clear;
        if (as_clear > test.level * (test.permutations + 1)) return 1;
    }
    return static_cast<double>(as_clear) / (test.permutations + 1);
}

// Finds changes between medians of groups, then the place of each near the border of its group.
std::vector<ChangePoint> changes_of_groups(std::span<const double> values, const ChangeTest& test) {
    const std::size_t size = (values.size() + most_tested - 1) / most_tested;
    std::vector<double> medians;
    for (std::size_t begin = 0; begin < values.size(); begin += size) {
        const auto group = values.subspan(begin, std::min(size, values.size() - begin));
        medians.push_back(median(std::vector(group.begin(), group.end())));
    }
    std::vector<ChangePoint> found = change_points(medians, test);
    for (ChangePoint& change : found) {
        const std::size_t begin = (change.first - least_beside_change) * size;
        const std::size_t end =
            std::min((change.first + least_beside_change) * size, values.size());
        change.first = begin + best_cut(values.subspan(begin, end - begin)).first;
    }
    return found;
}

}  // namespace

// After each value the cuts before it are tried. `to_all` has the sums of distances between the
// first i values and all values so far, `within` those of the first i values among themselves.
Cut best_cut(std::span<const double> values) {
    const std::size_t size = values.size();
    if (size < 2 * least_beside_change) return {};
    Cut best{-std::numeric_limits<double>::infinity()};
    std::vector<double> to_all(size + 1), within(size + 1);
    for (std::size_t last = 1; last <= size; ++last) {
        double distance = 0;
        for (std::size_t i = 1; i < last; ++i) {
            distance += std::abs(values[i - 1] - values[last - 1]);
            to_all[i] += distance;
        }
        to_all[last] = within[last] = within[last - 1] + 2 * distance;
        for (std::size_t cut = least_beside_change; cut + least_beside_change <= last; ++cut) {
            const auto before = static_cast<double>(cut), after = static_cast<double>(last - cut);
            const double across = to_all[cut] - within[cut];
            const double within_after = within[last] - 2 * to_all[cut] + within[cut];
            const double clarity = (2 * across - within[cut] * after / (before - 1) -
                                    within_after * before / (after - 1)) /
                                   static_cast<double>(last);
            if (clarity > best.clarity || (clarity == best.clarity && cut < best.first))
                best = {clarity, cut};
        }
    }
    return best;
}

std::vector<ChangePoint> change_points(std::span<const double> values, const ChangeTest& test) {
    if (values.size() > most_tested) return changes_of_groups(values, test);
    std::mt19937_64 random(test.seed);
    std::vector<std::size_t> cuts{0, values.size()};
    std::vector<ChangePoint> found;
    for (;;) {
        const Cut cut = best_of_segments(values, cuts);
        if (cut.first == 0) break;
        const double p = chance_of(cut.clarity, values, cuts, test, random);
        if (p > test.level) break;
        found.push_back({cut.first, p});
        cuts.insert(std::ranges::upper_bound(cuts, cut.first), cut.first);
    }
    std::ranges::sort(found, {}, &ChangePoint::first);
    return found;
}

}  // namespace tutti
