// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// The fewest values on each side of a change.
inline constexpr std::size_t least_beside_change = 3;

/// The first value after a change, and the share of random orders that have a change as clear.
struct ChangePoint {
    std::size_t first = 0;
    double p = 1;

    bool operator==(const ChangePoint&) const = default;
};

struct ChangeTest {
    double level = 0.01;     ///< the largest p of a change
    int permutations = 499;  ///< the random orders
    std::uint64_t seed = 1;  ///< for std::mt19937_64, whose numbers are the same everywhere
};

/// Where a series changes its distribution, in its order: E-divisive (Matteson and James 2014, J.
/// Am. Stat. Assoc. 109). Two parts of a series differ by their energy distance: how far values of
/// one are from values of the other, less how far values of each are from each other. The series is
/// cut where this is largest, as long as fewer random orders than `level` have a cut as clear.
///
/// n values cost n^2 operations for each random order. Of more than 1,000 values, medians of equal
/// groups are tested; then a change is at least three groups away from the next.
std::vector<ChangePoint> change_points(std::span<const double> values, const ChangeTest& test);

/// The best place to cut a series, and how clear it is.
struct Cut {
    double clarity = 0;
    std::size_t first = 0;  ///< the first value after it; 0 if the series is too short
};

/// The part after the cut may end before the series does, as what comes later may be another
/// change.
Cut best_cut(std::span<const double> values);

}  // namespace tutti
