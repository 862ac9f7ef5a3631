// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/plan_request.hpp"
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

/// Transfers between two ranks, in one lane, that are said one behind the other.
struct Message {
    Transfer first;
    double bytes = 0;
    int parts = 0;  ///< runs of neighbouring chunks
    int end = 0;    ///< of the last run
};

/// Calls visit(message) for the messages of a step; chunks without bytes are left out.
template <class Visit>
void for_each_message(const std::vector<Transfer>& transfers, const MessageSizes& sizes,
                      const Lanes& lanes, Visit&& visit) {
    Message message;
    for (const Transfer& transfer : transfers) {
        const double bytes = sizes.of(transfer.chunks);
        if (bytes == 0) continue;
        const Transfer& first = message.first;
        const bool goes_on =
            message.parts > 0 && first.from == transfer.from && first.to == transfer.to &&
            first.action == transfer.action &&
            lanes.lane_of(first.chunks.first) == lanes.lane_of(transfer.chunks.first);
        if (!goes_on) {
            if (message.parts > 0) visit(message);
            message = {transfer, 0, 0, -1};
        }
        message.bytes += bytes;
        if (message.end != transfer.chunks.first) ++message.parts;
        message.end = transfer.chunks.first + transfer.chunks.count;
    }
    if (message.parts > 0) visit(message);
}

}  // namespace tutti
