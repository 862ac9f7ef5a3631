// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/types.hpp"
#include "base/units.hpp"
#include "collectives/schedule/collective_spec.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The lengths of a call's blocks if they differ, as in MPI_Allgatherv. All ranks know all of them.
class BlockLengths {
public:
    BlockLengths() = default;
    /// `counts`: the elements of each block, in the order of CollectiveSpec. Throws Error if one is
    /// negative.
    explicit BlockLengths(std::span<const std::int64_t> counts) { set(counts); }
    /// Replaces all of them; keeps the memory.
    void set(std::span<const std::int64_t> counts);

    std::int64_t blocks() const { return std::ssize(ends_) - 1; }
    std::int64_t of(std::int64_t block) const { return before(block + 1) - before(block); }
    /// Returns the elements of all blocks before this one.
    std::int64_t before(std::int64_t block) const { return ends_[as_size(block)]; }
    std::int64_t longest() const;
    bool operator==(const BlockLengths&) const = default;

private:
    std::vector<std::int64_t> ends_{0};
    std::int64_t longest_ = 0;
};

/// A collective call; elements are counted as in MPI and NCCL.
struct Call {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::float32;
    Op op = Op::sum;
    Rank root = {0};
    /// Elements of the vector (all_reduce, broadcast, reduce, scan, exscan) or of one rank's block
    /// (the others). A barrier ignores it.
    std::int64_t count = 0;
    /// The lengths of the blocks if they differ, which lie side by side in the buffers; `count` is
    /// then the longest. The object must live as long as calls with it are made.
    const BlockLengths* lengths = nullptr;

    bool operator==(const Call& other) const {
        return collective == other.collective && type == other.type && op == other.op &&
               root == other.root && count == other.count &&
               (lengths == other.lengths ||
                (lengths != nullptr && other.lengths != nullptr && *lengths == *other.lengths));
    }
};

/// Returns the elements of a block, or of the longest one. A barrier's token has as many bytes for
/// every type.
inline std::int64_t elements_of_block(const Call& call) {
    constexpr std::size_t token_bytes = 8;
    return has_buffers(call.collective)
               ? call.count
               : static_cast<std::int64_t>(elements_in(token_bytes, call.type));
}
inline std::size_t bytes_of_block(const Call& call) {
    return static_cast<std::size_t>(elements_of_block(call)) * size_of(call.type);
}

/// One of the two buffers of a call.
enum class BufferSide : std::uint8_t { input, output };

/// Numbers the chunks of one rank's input and output by their position there, for calls of any
/// length: neighbouring positions are neighbouring memory.
class Positions {
public:
    Positions(const CollectiveSpec& spec, Rank rank, int chunks)
        : spec_(spec), rank_(rank), chunks_per_block_(chunks / spec.blocks()) {}
    /// Numbers whole blocks.
    Positions(const CollectiveSpec& spec, Rank rank)
        : spec_(spec), rank_(rank), chunks_per_block_(1) {}

    /// Returns the position in the input, if the rank starts with (a share of) the chunk.
    std::optional<int> in_input(int chunk) const;
    /// Returns the position in the output, if the rank must end with the chunk.
    std::optional<int> in_output(int chunk) const;
    /// Returns the number of positions in the input.
    int inputs() const { return static_cast<int>(spec_.input_blocks(rank_) * chunks_per_block_); }
    /// Return the position at which the input or the output begins in the memory that holds both,
    /// in place.
    int first_input_in_place() const;
    int first_output_in_place() const;
    /// Returns the larger buffer, which holds both in place.
    BufferSide larger() const {
        return spec_.input_blocks(rank_) > spec_.output_blocks(rank_) ? BufferSide::input
                                                                      : BufferSide::output;
    }

private:
    CollectiveSpec spec_;
    Rank rank_;
    std::int64_t chunks_per_block_;
};

/// Lengths and offsets of the chunks of one call in a rank's buffers; the only place that divides.
/// Chunk i of the C of a block covers its elements [n*i/C, n*(i+1)/C), so any count works, even
/// fewer elements than chunks.
class Layout {
public:
    Layout(const Call& call, const CollectiveSpec& spec, Rank rank, int chunks);
    /// Returns the layout of the same call at another rank.
    Layout of(Rank rank) const {
        Layout other = *this;
        other.rank_ = rank;
        return other;
    }

    std::size_t bytes_of(int chunk) const;
    std::size_t most_bytes_of_chunk() const;
    /// Returns the offset of a position in a buffer, see Positions.
    std::size_t offset_of(BufferSide side, int position) const;
    /// Returns the offset in the input, if the rank starts with (a share of) the chunk.
    std::optional<std::size_t> in_input(int chunk) const;
    /// Returns the offset in the output, if the rank must end with the chunk.
    std::optional<std::size_t> in_output(int chunk) const;

private:
    // A chunk by its block and its position there.
    struct InBlock {
        std::int64_t block, within;
    };
    // Divides by shifting where that is possible: a division takes as long as many additions.
    InBlock in_block(std::int64_t chunk) const {
        if (shift_ >= 0) return {chunk >> shift_, chunk & (chunks_per_block_ - 1)};
        return {chunk / chunks_per_block_, chunk % chunks_per_block_};
    }
    std::int64_t first_element(std::int64_t chunk_in_block, std::int64_t elements) const;
    std::int64_t elements_of(std::int64_t block) const {
        return lengths_ == nullptr ? count_ : lengths_->of(block);
    }

    CollectiveSpec spec_;
    Rank rank_;
    int chunks_;
    const BlockLengths* lengths_;
    std::int64_t count_;
    std::int64_t chunks_per_block_;
    int shift_;  // log2 of the chunks per block; -1: no power of two
    std::size_t element_size_;
};

/// Calls visit(chunk) for each chunk that the rank must end with, in the order of its output.
template <class Visit>
void for_each_output_chunk(const CollectiveSpec& spec, Rank rank, int chunks, Visit&& visit) {
    const std::int64_t per_block = chunks / spec.blocks();
    for (std::int64_t place = 0; place < spec.output_blocks(rank); ++place)
        for (std::int64_t part = 0; part < per_block; ++part)
            visit(static_cast<int>(spec.block_in_output(rank, place) * per_block + part));
}

/// Return the sizes of the input and output buffers that `rank` passes for a call.
std::size_t input_bytes(const Call& call, int ranks, Rank rank);
std::size_t output_bytes(const Call& call, int ranks, Rank rank);

/// Returns the size column of nccl-tests: the vector, or all ranks' blocks together.
std::int64_t total_bytes(const Call& call, int ranks);

/// Returns the element count whose size (as in nccl-tests) is at least `size`: sizes that are not a
/// multiple are rounded up, so that a small size is never measured as nothing. 0 bytes are 0
/// elements, and so is any size of a barrier.
std::int64_t count_for(Collective collective, DataType type, int ranks, Bytes size);

/// Offsets of an in-place call's input and output in the buffer that holds both, in bytes; one of
/// them is 0.
struct InPlace {
    std::size_t input = 0;
    std::size_t output = 0;
};
InPlace in_place_offsets(const Call& call, int ranks, Rank rank);

}  // namespace tutti
#pragma GCC visibility pop
