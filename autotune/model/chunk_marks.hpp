// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// A yes or no for each chunk of each rank, a bit each. Where that would be more than 16 MiB it is
/// always no: so many chunks are those of exchanges in which no rank computes anything.
class ChunkMarks {
public:
    ChunkMarks(int ranks, int chunks) : chunks_(chunks) {
        const std::int64_t bits = std::int64_t{ranks} * chunks;
        if (bits <= most_bits) marks_.resize(static_cast<std::size_t>(bits));
    }

    /// Of the first of the chunks: those that travel together are alike.
    bool has(Rank rank, Chunks chunks) const {
        return !marks_.empty() && marks_[index(rank, chunks.first)];
    }
    void set(Rank rank, Chunks chunks, bool mark) {
        if (marks_.empty()) return;
        const auto begin = marks_.begin() + static_cast<std::ptrdiff_t>(index(rank, chunks.first));
        std::fill_n(begin, chunks.count, mark);
    }

private:
    static constexpr std::int64_t most_bits = std::int64_t{1} << 27;
    std::size_t index(Rank rank, int chunk) const {
        return static_cast<std::size_t>(rank.index) * static_cast<std::size_t>(chunks_) +
               static_cast<std::size_t>(chunk);
    }

    int chunks_;
    std::vector<bool> marks_;
};

}  // namespace tutti
