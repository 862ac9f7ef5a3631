// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"

namespace tutti {

/// A partial sum by number; equal numbers are equal expressions. 0 is "nothing".
using Sum = std::uint32_t;
inline constexpr Sum nothing = 0;

/// All partial sums that came up, each stored once. A sum is one rank's share, or the sum of two
/// sums (unordered, as a + b and b + a round alike); it knows the set of shares in it.
class PartialSums {
public:
    explicit PartialSums(int ranks);

    Sum share_of(Rank rank) const { return static_cast<Sum>(rank.index) + 1; }

    /// a + b, which must have no share in common.
    Sum add(Sum a, Sum b);

    /// A rank whose share is in both.
    std::optional<Rank> common(Sum a, Sum b) const;
    /// A rank whose share is not in the sum.
    std::optional<Rank> missing_from(Sum sum) const;
    /// Some rank whose share is in the sum.
    std::optional<Rank> any_in(Sum sum) const;

private:
    const std::uint64_t* set_of(Sum sum) const { return &sets_[sum * words_]; }
    std::optional<Rank> lowest(std::uint64_t (*combine)(std::uint64_t, std::uint64_t), Sum a,
                               Sum b) const;

    std::size_t ranks_;
    std::size_t words_;                // 64-bit words per set
    std::vector<std::uint64_t> sets_;  // the set of sum s at s * words_
    std::unordered_map<std::uint64_t, Sum> sum_of_pair_;
};

}  // namespace tutti
