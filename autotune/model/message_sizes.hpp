// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "collectives/execute/plan/layout.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// The bytes of chunks, as Layout divides the message, without asking for each of them.
class MessageSizes {
public:
    MessageSizes(const Call& call, std::int64_t blocks, int chunks)
        : count_(call.count),
          element_(static_cast<double>(size_of(call.type))),
          chunks_per_block_(chunks / blocks) {}

    std::int64_t block_of(Chunks chunks) const { return chunks.first / chunks_per_block_; }

    double of(Chunks chunks) const {
        return element_ * static_cast<double>(first_element(chunks.first + chunks.count) -
                                              first_element(chunks.first));
    }

    /// What a rank copies from its own input to its own output.
    double own(const CollectiveSpec& spec, Rank rank) const {
        return static_cast<double>(own_blocks(spec, rank)) * element_ * static_cast<double>(count_);
    }
    std::int64_t own_chunks(const CollectiveSpec& spec, Rank rank) const {
        return own_blocks(spec, rank) * chunks_per_block_;
    }

    /// Whether the chunks are the block that a gathering rank began with, and others.
    bool mixes_own_block(const CollectiveSpec& spec, Chunks chunks, Rank rank) const {
        if (spec.collective() != Collective::all_gather && spec.collective() != Collective::gather)
            return false;
        const std::int64_t own = rank.index * chunks_per_block_, end = own + chunks_per_block_;
        const std::int64_t last = chunks.first + chunks.count;
        return chunks.first < end && own < last && (chunks.first < own || end < last);
    }

private:
    std::int64_t first_element(std::int64_t chunk) const {
        if (chunks_per_block_ == 1) return chunk * count_;
        const std::int64_t block = chunk / chunks_per_block_;
        return block * count_ + count_ * (chunk - block * chunks_per_block_) / chunks_per_block_;
    }

    static std::int64_t own_blocks(const CollectiveSpec& spec, Rank rank) {
        if (spec.ranks() == 1) return 1;
        if (spec.reduces()) return 0;
        switch (spec.collective()) {
            case Collective::all_gather:
            case Collective::all_to_all:
                return 1;
            default:
                return rank == spec.root() ? 1 : 0;
        }
    }

    std::int64_t count_;
    double element_;
    std::int64_t chunks_per_block_;
};

}  // namespace tutti
