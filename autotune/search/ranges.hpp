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

/// Ranges in place of single sizes, and their extra cost against each size's winner, as shares of
/// its time.
struct FewerRanges {
    std::vector<SizeRange> ranges;  ///< ascending from 0 bytes; empty if nothing was found
    double mean_penalty = 0;
    double worst_penalty = 0;
};

/// Returns the fewest ranges whose arms cost less than `hysteresis` at every size; among equals,
/// those that cost least. An arm that has not raced at a size gets the penalty interpolated from
/// the neighbouring sizes if it raced at both. Ranges meet at the geometric mean of two sizes.
FewerRanges ranges_of(std::span<const Finding> findings, double hysteresis);

}  // namespace tutti
