// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/types.hpp"
#include "base/units.hpp"
#include "collectives/schedule/collective_spec.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A collective call; elements are counted as in MPI and NCCL.
struct Call {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::float32;
    Op op = Op::sum;
    Rank root = {0};
    /// Elements of the vector (all_reduce, broadcast, reduce) or of one rank's block (the others).
    std::int64_t count = 0;
    bool operator==(const Call&) const = default;
};

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

private:
    CollectiveSpec spec_;
    Rank rank_;
    std::int64_t chunks_per_block_;
};

/// Lengths and offsets of the chunks of one call; the only place that divides. Chunk i of C covers
/// the elements [n*i/C, n*(i+1)/C), so any count works, even fewer elements than chunks.
class Layout {
public:
    Layout(const Call& call, const CollectiveSpec& spec, Rank rank, int chunks);

    std::size_t bytes_of(int chunk) const;
    std::size_t most_bytes_of_chunk() const;
    /// Returns the offset of a position, see Positions.
    std::size_t offset_of(int position) const;
    /// Returns the offset in the input, if the rank starts with (a share of) the chunk.
    std::optional<std::size_t> in_input(int chunk) const;
    /// Returns the offset in the output, if the rank must end with the chunk.
    std::optional<std::size_t> in_output(int chunk) const;

private:
    std::int64_t first_element(std::int64_t chunk) const;

    Positions positions_;
    std::int64_t elements_of_block_;
    std::int64_t chunks_per_block_;
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
/// elements.
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
