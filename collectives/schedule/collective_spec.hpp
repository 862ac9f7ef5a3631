// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "base/index.hpp"
#include "base/types.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A collective in terms of blocks. The message is one block (all_reduce, broadcast, reduce, scan,
/// exscan), one block per rank (all_gather, reduce_scatter, scatter, gather: block b belongs to
/// rank b), or one per pair (all_to_all: block i * ranks + j goes from rank i to rank j). A
/// barrier's block is a token of a few bytes, which is in no buffer: the result has a share of
/// every rank, so no rank has it before all have entered.
class CollectiveSpec {
public:
    CollectiveSpec(Collective collective, int ranks, Rank root = {0})
        : collective_(collective), ranks_(ranks), root_(root), blocks_(count_blocks()) {}

    Collective collective() const { return collective_; }
    int ranks() const { return ranks_; }
    Rank root() const { return root_; }
    /// Whether results combine shares of several ranks.
    bool reduces() const { return tutti::reduces(collective_) || is_token(); }
    /// Whether the block is a barrier's token: it is in no buffer, and may get a share twice.
    bool is_token() const { return !has_buffers(collective_); }
    /// Returns the number of ranks, from rank 0 on, whose shares are in the result of this rank.
    int summands(Rank rank) const;
    /// Whether in place a rank's result takes the place of blocks that it is not made of, so that a
    /// plan must not read the buffer after it began to write it.
    bool exchanges() const;

    std::int64_t blocks() const { return blocks_; }

    /// Whether the rank has (its share of) the block before the collective.
    bool starts_with(Rank rank, std::int64_t block) const;
    /// True if the rank starts with the block and the collective adds nothing to it. The rank never
    /// needs to receive this block, and the memory that holds it may be read-only.
    bool starts_complete(Rank rank, std::int64_t block) const {
        return !reduces() && starts_with(rank, block);
    }
    /// Whether the rank must have the finished block afterwards.
    bool ends_with(Rank rank, std::int64_t block) const;
    /// Returns the rank whose data the block holds; only for collectives that do not reduce.
    Rank source_of(std::int64_t block) const;

    /// Return the position of a block in the rank's input or output, counted in blocks. Only valid
    /// for blocks that the rank starts or ends with.
    std::int64_t place_in_input(Rank rank, std::int64_t block) const;
    std::int64_t place_in_output(Rank rank, std::int64_t block) const;
    /// Return the block at a position of the rank's input or output: the inverses.
    std::int64_t block_in_input(Rank rank, std::int64_t place) const;
    std::int64_t block_in_output(Rank rank, std::int64_t place) const;
    /// Return the number of blocks in the rank's input and output (0: it has none).
    std::int64_t input_blocks(Rank rank) const;
    std::int64_t output_blocks(Rank rank) const;

private:
    /// Return the rank's block where each rank holds exactly one, before and after the collective.
    std::optional<std::int64_t> own_input(Rank rank) const;
    std::optional<std::int64_t> own_output(Rank rank) const;
    std::int64_t count_blocks() const;

    Collective collective_;
    int ranks_;
    Rank root_;
    std::int64_t blocks_;
};

}  // namespace tutti
#pragma GCC visibility pop
