// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/partial_sums.hpp"

#include <algorithm>
#include <bit>

namespace tutti {

PartialSums::PartialSums(int ranks)
    : ranks_(static_cast<std::size_t>(ranks)),
      words_((ranks_ + 63) / 64),
      sets_((ranks_ + 1) * words_, 0) {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
        sets_[(rank + 1) * words_ + rank / 64] = std::uint64_t{1} << (rank % 64);
}

Sum PartialSums::add(Sum a, Sum b) {
    const std::uint64_t pair = static_cast<std::uint64_t>(std::min(a, b)) << 32 | std::max(a, b);
    const auto sum = static_cast<Sum>(sets_.size() / words_);
    const auto [known, is_new] = sum_of_pair_.try_emplace(pair, sum);
    if (is_new)
        for (std::size_t word = 0; word < words_; ++word)
            sets_.push_back(sets_[a * words_ + word] | sets_[b * words_ + word]);
    return known->second;
}

std::optional<Rank> PartialSums::lowest(std::uint64_t (*combine)(std::uint64_t, std::uint64_t),
                                        Sum a, Sum b) const {
    for (std::size_t word = 0; word < words_; ++word) {
        const std::uint64_t bits = combine(set_of(a)[word], set_of(b)[word]);
        if (bits == 0) continue;
        const std::size_t rank = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        if (rank < ranks_) return Rank{static_cast<int>(rank)};
    }
    return std::nullopt;
}

std::optional<Rank> PartialSums::common(Sum a, Sum b) const {
    return lowest([](std::uint64_t x, std::uint64_t y) { return x & y; }, a, b);
}

std::optional<Rank> PartialSums::missing_from(Sum sum) const {
    return lowest([](std::uint64_t x, std::uint64_t) { return ~x; }, sum, sum);
}

std::optional<Rank> PartialSums::any_in(Sum sum) const { return common(sum, sum); }

}  // namespace tutti
