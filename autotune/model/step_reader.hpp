// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/schedule/schedule.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// The host of each rank, and its core if a host has more ranks than cores: neighbours share one,
/// as `pin_ranks` assigns them. Otherwise each rank has its own core.
struct CoreAssignment {
    std::vector<int> host_of, core_of;
    int hosts = 0, cores = 0;
    int most_on_core = 1;
    bool is_oversubscribed = false;

    CoreAssignment(const Placement& placement, int ranks, int cores_of_host);
};

/// Reads a schedule's steps one by one into reused memory. Steps with too many transfers (all to
/// all, a thousand ranks) are sampled: it reads those of a few ranks, because all ranks but the
/// root do the same in such steps.
class StepReader {
public:
    StepReader(const Schedule& schedule, Rank root, const CoreAssignment& assignment);

    /// Returns n so that reading only each n-th step reads about `most` transfers. Looks at the
    /// first, the middle and the last step.
    int stride_for(std::int64_t most);

    void read(int step);
    const std::vector<Transfer>& transfers() const { return transfers_; }

    bool is_sampled() const { return is_sampled_; }
    /// Returns how many ranks of its host a sampled rank represents; 0 outside the sample.
    double stands_for(Rank rank) const { return is_sampled_ ? at(weights_, rank) : 1; }

    /// Returns the transfers visited so far.
    std::int64_t visited() const { return visited_; }

private:
    void read_sample(int step);

    const Schedule& schedule_;
    std::vector<Rank> sample_;
    std::vector<double> weights_;
    std::vector<Transfer> transfers_;
    bool is_sampled_ = false;
    std::int64_t visited_ = 0;
};

/// One bit for each chunk of each rank. Above 16 MiB all bits read as false: schedules with that
/// many chunks are exchanges in which no rank computes anything.
class ChunkMarks {
public:
    ChunkMarks(int ranks, int chunks) : chunks_(chunks) {
        const std::int64_t bits = std::int64_t{ranks} * chunks;
        if (bits <= most_bits) marks_.resize(static_cast<std::size_t>(bits));
    }

    /// Returns the bit of the first chunk: chunks that travel together are alike.
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

/// Computes the bytes of chunks as Layout divides the message, without visiting each chunk.
class MessageSizes {
public:
    MessageSizes(const Call& call, std::int64_t blocks, int chunks)
        : count_(call.count),
          element_(static_cast<double>(size_of(call.type))),
          chunks_per_block_(chunks / blocks),
          are_tokens_(!has_buffers(call.collective)) {}

    std::int64_t block_of(Chunks chunks) const { return chunks.first / chunks_per_block_; }

    double of(Chunks chunks) const {
        return element_ * static_cast<double>(first_element(chunks.first + chunks.count) -
                                              first_element(chunks.first));
    }

    /// Returns whether the chunks are not sent at all; a barrier's are, although they have no
    /// bytes.
    bool are_left_out(Chunks chunks) const { return !are_tokens_ && of(chunks) == 0; }

    /// Returns the bytes that a rank copies from its own input to its own output.
    double own(const CollectiveSpec& spec, Rank rank) const {
        return static_cast<double>(own_blocks(spec, rank)) * element_ * static_cast<double>(count_);
    }
    std::int64_t own_chunks(const CollectiveSpec& spec, Rank rank) const {
        return own_blocks(spec, rank) * chunks_per_block_;
    }

    /// Returns whether the chunks are the block that a gathering rank began with, and others.
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
        if (spec.ranks() == 1) return spec.ends_with(rank, 0) ? 1 : 0;
        // The first rank's result of a scan is its input.
        if (spec.reduces())
            return spec.collective() == Collective::scan && spec.summands(rank) == 1 ? 1 : 0;
        switch (spec.collective()) {
            case Collective::all_gather:
            case Collective::all_to_all:
                return 1;
            default:
                return has_root(spec.collective()) && rank == spec.root() ? 1 : 0;
        }
    }

    std::int64_t count_;
    double element_;
    std::int64_t chunks_per_block_;
    bool are_tokens_;
};

/// Consecutive transfers between two ranks in one lane, which become one message.
struct Message {
    Transfer first;
    double bytes = 0;
    int parts = 0;  ///< runs of neighbouring chunks
    int end = 0;    ///< end of the last run
};

/// Calls visit(message) for the messages of a step.
template <class Visit>
void for_each_message(const std::vector<Transfer>& transfers, const MessageSizes& sizes,
                      const Lanes& lanes, Visit&& visit) {
    Message message;
    for (const Transfer& transfer : transfers) {
        if (sizes.are_left_out(transfer.chunks)) continue;
        const Transfer& first = message.first;
        const bool goes_on =
            message.parts > 0 && first.from == transfer.from && first.to == transfer.to &&
            first.action == transfer.action &&
            lanes.lane_of(first.chunks.first) == lanes.lane_of(transfer.chunks.first);
        if (!goes_on) {
            if (message.parts > 0) visit(message);
            message = {transfer, 0, 0, -1};
        }
        message.bytes += sizes.of(transfer.chunks);
        if (message.end != transfer.chunks.first) ++message.parts;
        message.end = transfer.chunks.first + transfer.chunks.count;
    }
    if (message.parts > 0) visit(message);
}

}  // namespace tutti
