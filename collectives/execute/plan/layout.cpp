// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/layout.hpp"

#include "base/rounding.hpp"

namespace tutti {

Layout::Layout(const Call& call, const CollectiveSpec& spec, Rank rank, int chunks)
    : spec_(spec),
      rank_(rank),
      elements_of_block_(call.count),
      chunks_per_block_(chunks / spec.blocks()),
      element_size_(size_of(call.type)) {}

// Returns the first element of a chunk counted within its block. Uses 128 bits, because both counts
// and chunks may exceed 2^31.
std::int64_t Layout::first_element(std::int64_t chunk_in_block) const {
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

std::size_t Layout::offset(int chunk, std::int64_t place) const {
    const std::int64_t within = chunk % chunks_per_block_;
    return static_cast<std::size_t>(place * elements_of_block_ + first_element(within)) *
           element_size_;
}

std::optional<std::size_t> Layout::in_input(int chunk) const {
    const std::int64_t block = block_of(chunk);
    if (!spec_.starts_with(rank_, block)) return std::nullopt;
    return offset(chunk, spec_.place_in_input(rank_, block));
}

std::optional<std::size_t> Layout::in_output(int chunk) const {
    const std::int64_t block = block_of(chunk);
    if (!spec_.ends_with(rank_, block)) return std::nullopt;
    return offset(chunk, spec_.place_in_output(rank_, block));
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
    const std::size_t own_block =
        static_cast<std::size_t>(rank.index * call.count) * size_of(call.type);
    const bool is_root = rank == call.root;
    switch (call.collective) {
        case Collective::all_gather:
            return {.input = own_block};
        case Collective::reduce_scatter:
            return {.output = own_block};
        case Collective::gather:
            return {.input = is_root ? own_block : 0};
        case Collective::scatter:
            return {.output = is_root ? own_block : 0};
        default:
            (void)ranks;
            return {};
    }
}

}  // namespace tutti
