// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "autotune/search/search.hpp"

namespace tutti {

/// One arm for all sizes from `from` up to the next range.
struct SizeRange {
    Bytes from;
    int arm = 0;
    std::size_t first = 0, last = 0;  ///< findings that lie in it
};

/// Ranges in place of single sizes, and what that costs against each size's own winner, as shares
/// of its time.
struct FewerRanges {
    std::vector<SizeRange> ranges;  ///< ascending from 0 bytes; empty if nothing was found
    double mean_penalty = 0;
    double worst_penalty = 0;
};

/// The fewest ranges whose arms cost less than `hysteresis` at every size, and of those the ones
/// that cost least. An arm that has not raced at a size gets its penalty from the sizes beside it
/// if it raced at both. Ranges meet at the geometric mean of two sizes.
FewerRanges ranges_of(std::span<const Finding> findings, double hysteresis);

}  // namespace tutti
