// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "tutti/call_arguments.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// Lengths of blocks for a call in which no rank knows all of them. Each rank tells the lengths of
/// its own blocks (one block, or one for each rank) and a checksum of the lengths that it expects.
/// Afterwards all ranks know all lengths, and whether any rank expects others.
class BlockExchange {
public:
    /// Prepares what this rank tells.
    template <class Lengths>
    void tell(const Lengths& own) {
        told_.assign(1, expects_nothing);
        for (const std::int64_t length : own) told_.push_back(length);
    }
    /// Adds the length of the block that this rank expects from each rank.
    template <class Lengths>
    void expect(const Lengths& lengths) {
        told_.front() = checksum(lengths);
    }

    /// Returns the all-gather that exchanges them.
    CallArguments all_gather(int ranks) {
        heard_.resize(told_.size() * as_size(ranks));
        return arguments::all_gather(told_, heard_);
    }

    /// Returns the lengths of all blocks after the all-gather, in the order of the ranks that told
    /// them; nothing if one is negative or differs from what a rank expects. Equal on all ranks.
    std::span<const std::int64_t> agreed() {
        const std::size_t told = told_.size(), own = told - 1, ranks = heard_.size() / told;
        lengths_.clear();
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t block = 1; block < told; ++block)
                lengths_.push_back(heard_[rank * told + block]);
        if (std::ranges::any_of(lengths_, [](std::int64_t length) { return length < 0; }))
            return {};
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const std::int64_t expected = heard_[rank * told];
            if (expected == expects_nothing) continue;
            column_.clear();
            for (std::size_t from = 0; from < ranks; ++from)
                column_.push_back(lengths_[from * own + (own == 1 ? 0 : rank)]);
            mismatched_ = static_cast<int>(rank);
            if (checksum(column_) != expected) return {};
        }
        return lengths_;
    }

    /// Returns a rank that expects other lengths, and those that the ranks have for it, if that is
    /// why they do not agree.
    struct Mismatch {
        int rank;
        std::span<const std::int64_t> lengths;
    };
    Mismatch mismatch() const { return {mismatched_, column_}; }

private:
    static constexpr std::int64_t expects_nothing = 0;

    template <class Lengths>
    static std::int64_t checksum(const Lengths& lengths) {
        std::uint64_t sum = 0;
        for (const std::int64_t length : lengths) {
            sum = (sum ^ static_cast<std::uint64_t>(length)) * 0x9E3779B97F4A7C15U;
            sum ^= sum >> 32;
        }
        return static_cast<std::int64_t>(sum | 1U);  // never expects_nothing
    }

    std::vector<std::int64_t> told_, heard_, lengths_, column_;
    int mismatched_ = 0;
};

}  // namespace tutti
#pragma GCC visibility pop
