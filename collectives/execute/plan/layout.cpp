// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/layout.hpp"

#include "base/rounding.hpp"

namespace tutti {

std::optional<int> Positions::in_input(int chunk) const {
    const std::int64_t block = chunk / chunks_per_block_;
    if (!spec_.starts_with(rank_, block)) return std::nullopt;
    return static_cast<int>(spec_.place_in_input(rank_, block) * chunks_per_block_ +
                            chunk % chunks_per_block_);
}

std::optional<int> Positions::in_output(int chunk) const {
    const std::int64_t block = chunk / chunks_per_block_;
    if (!spec_.ends_with(rank_, block)) return std::nullopt;
    return static_cast<int>(spec_.place_in_output(rank_, block) * chunks_per_block_ +
                            chunk % chunks_per_block_);
}

namespace {

// Whether the rank has its own block within a buffer of all blocks.
bool has_own_block(const CollectiveSpec& spec, Rank rank, Collective of_all, Collective of_root) {
    return spec.collective() == of_all || (spec.collective() == of_root && rank == spec.root());
}

}  // namespace

int Positions::first_input_in_place() const {
    const bool is_within = has_own_block(spec_, rank_, Collective::all_gather, Collective::gather);
    return is_within ? static_cast<int>(rank_.index * chunks_per_block_) : 0;
}

int Positions::first_output_in_place() const {
    const bool is_within =
        has_own_block(spec_, rank_, Collective::reduce_scatter, Collective::scatter);
    return is_within ? static_cast<int>(rank_.index * chunks_per_block_) : 0;
}

Layout::Layout(const Call& call, const CollectiveSpec& spec, Rank rank, int chunks)
    : positions_(spec, rank, chunks),
      elements_of_block_(call.count),
      chunks_per_block_(chunks / spec.blocks()),
      element_size_(size_of(call.type)) {}

// Returns the first element of a chunk counted within its block. Uses 128 bits where both counts
// and chunks are large, which takes longer.
std::int64_t Layout::first_element(std::int64_t chunk_in_block) const {
    if (chunk_in_block == 0) return 0;
    if (((elements_of_block_ | chunk_in_block) >> 31) == 0)
        return elements_of_block_ * chunk_in_block / chunks_per_block_;
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(elements_of_block_) * chunk_in_block /
                                     chunks_per_block_);
}

std::size_t Layout::bytes_of(int chunk) const {
    const std::int64_t within = chunk % chunks_per_block_;
    return static_cast<std::size_t>(first_element(within + 1) - first_element(within)) *
           element_size_;
}

std::size_t Layout::most_bytes_of_chunk() const {
    const std::int64_t rounded_up = divide_up(elements_of_block_, chunks_per_block_);
    return static_cast<std::size_t>(rounded_up) * element_size_;
}

std::size_t Layout::offset_of(int position) const {
    const std::int64_t place = position / chunks_per_block_;
    return static_cast<std::size_t>(place * elements_of_block_ +
                                    first_element(position % chunks_per_block_)) *
           element_size_;
}

std::optional<std::size_t> Layout::in_input(int chunk) const {
    const auto position = positions_.in_input(chunk);
    return position ? std::optional(offset_of(*position)) : std::nullopt;
}

std::optional<std::size_t> Layout::in_output(int chunk) const {
    const auto position = positions_.in_output(chunk);
    return position ? std::optional(offset_of(*position)) : std::nullopt;
}

std::size_t input_bytes(const Call& call, int ranks, Rank rank) {
    const CollectiveSpec spec{call.collective, ranks, call.root};
    return static_cast<std::size_t>(spec.input_blocks(rank) * call.count) * size_of(call.type);
}

std::size_t output_bytes(const Call& call, int ranks, Rank rank) {
    const CollectiveSpec spec{call.collective, ranks, call.root};
    return static_cast<std::size_t>(spec.output_blocks(rank) * call.count) * size_of(call.type);
}

std::int64_t total_bytes(const Call& call, int ranks) {
    const std::int64_t blocks =
        CollectiveSpec{call.collective, ranks, call.root}.blocks() == 1 ? 1 : ranks;
    return blocks * call.count * static_cast<std::int64_t>(size_of(call.type));
}

std::int64_t count_for(Collective collective, DataType type, int ranks, Bytes size) {
    const Call one{.collective = collective, .type = type, .count = 1};
    const std::int64_t bytes_of_one = total_bytes(one, ranks);
    return divide_up(size.count, bytes_of_one);
}

InPlace in_place_offsets(const Call& call, int ranks, Rank rank) {
    const Positions blocks(CollectiveSpec{call.collective, ranks, call.root}, rank);
    const auto bytes = [&](int first_block) {
        return static_cast<std::size_t>(first_block * call.count) * size_of(call.type);
    };
    return {bytes(blocks.first_input_in_place()), bytes(blocks.first_output_in_place())};
}

}  // namespace tutti
