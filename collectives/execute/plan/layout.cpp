// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/rounding.hpp"

namespace tutti {

void BlockLengths::set(std::span<const std::int64_t> counts) {
    ends_.resize(counts.size() + 1);
    longest_ = 0;
    for (std::size_t block = 0; block < counts.size(); ++block) {
        if (counts[block] < 0)
            throw Error(
                fmt::format("block {} has {} elements; use 0 or more", block, counts[block]));
        ends_[block + 1] = ends_[block] + counts[block];
        longest_ = std::max(longest_, counts[block]);
    }
}

std::int64_t BlockLengths::longest() const { return longest_; }

std::optional<int> Positions::in_input(int chunk) const {
    const std::int64_t block = chunk / chunks_per_block_;
    if (spec_.is_token() || !spec_.starts_with(rank_, block)) return std::nullopt;
    return static_cast<int>(spec_.place_in_input(rank_, block) * chunks_per_block_ +
                            chunk % chunks_per_block_);
}

std::optional<int> Positions::in_output(int chunk) const {
    const std::int64_t block = chunk / chunks_per_block_;
    if (spec_.is_token() || !spec_.ends_with(rank_, block)) return std::nullopt;
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

namespace {

int shift_of(std::int64_t number) {
    const bool is_power_of_two = (number & (number - 1)) == 0;  // one without an instruction for it
    return is_power_of_two ? std::countr_zero(static_cast<std::uint64_t>(number)) : -1;
}

}  // namespace

Layout::Layout(const Call& call, const CollectiveSpec& spec, Rank rank, int chunks)
    : spec_(spec),
      rank_(rank),
      chunks_(chunks),
      lengths_(call.lengths),
      count_(elements_of_block(call)),
      chunks_per_block_(chunks / static_cast<int>(spec.blocks())),
      shift_(shift_of(chunks_per_block_)),
      element_size_(size_of(call.type)) {}

// Returns the first element of a chunk counted within its block. Uses 128 bits where both counts
// and chunks are large, which takes longer.
std::int64_t Layout::first_element(std::int64_t chunk_in_block, std::int64_t elements) const {
    if (chunk_in_block == 0) return 0;
    if (((elements | chunk_in_block) >> 31) == 0) {
        const std::int64_t product = elements * chunk_in_block;
        return shift_ >= 0 ? product >> shift_ : product / chunks_per_block_;
    }
    __extension__ using Wide = __int128;
    return static_cast<std::int64_t>(static_cast<Wide>(elements) * chunk_in_block /
                                     chunks_per_block_);
}

std::size_t Layout::bytes_of(int chunk) const {
    const auto [block, within] = in_block(chunk);
    const std::int64_t elements = elements_of(block);
    return static_cast<std::size_t>(first_element(within + 1, elements) -
                                    first_element(within, elements)) *
           element_size_;
}

std::size_t Layout::most_bytes_of_chunk() const {
    const std::int64_t rounded_up = divide_up(count_, chunks_per_block_);
    return static_cast<std::size_t>(rounded_up) * element_size_;
}

std::size_t Layout::offset_of(BufferSide side, int position) const {
    const auto [place, within] = in_block(position);
    if (lengths_ == nullptr)
        return static_cast<std::size_t>(place * count_ + first_element(within, count_)) *
               element_size_;
    const auto block_at = [&](std::int64_t at_place) {
        return side == BufferSide::input ? spec_.block_in_input(rank_, at_place)
                                         : spec_.block_in_output(rank_, at_place);
    };
    const std::int64_t first_block = block_at(0), block = block_at(place);
    std::int64_t before = 0;
    if (block - first_block == place)  // the blocks are neighbours
        before = lengths_->before(block) - lengths_->before(first_block);
    else
        for (std::int64_t at_place = 0; at_place < place; ++at_place)
            before += lengths_->of(block_at(at_place));
    const std::int64_t first = within == 0 ? 0 : first_element(within, elements_of(block));
    return static_cast<std::size_t>(before + first) * element_size_;
}

std::optional<std::size_t> Layout::in_input(int chunk) const {
    const auto position = Positions(spec_, rank_, chunks_).in_input(chunk);
    return position ? std::optional(offset_of(BufferSide::input, *position)) : std::nullopt;
}

std::optional<std::size_t> Layout::in_output(int chunk) const {
    const auto position = Positions(spec_, rank_, chunks_).in_output(chunk);
    return position ? std::optional(offset_of(BufferSide::output, *position)) : std::nullopt;
}

namespace {

std::size_t bytes_on(BufferSide side, const Call& call, int ranks, Rank rank) {
    const CollectiveSpec spec{call.collective, ranks, call.root};
    const std::int64_t places =
        side == BufferSide::input ? spec.input_blocks(rank) : spec.output_blocks(rank);
    if (call.lengths == nullptr)
        return static_cast<std::size_t>(places * call.count) * size_of(call.type);
    return Layout(call, spec, rank, static_cast<int>(spec.blocks()))
        .offset_of(side, static_cast<int>(places));
}

}  // namespace

std::size_t input_bytes(const Call& call, int ranks, Rank rank) {
    return bytes_on(BufferSide::input, call, ranks, rank);
}

std::size_t output_bytes(const Call& call, int ranks, Rank rank) {
    return bytes_on(BufferSide::output, call, ranks, rank);
}

std::int64_t total_bytes(const Call& call, int ranks) {
    const std::int64_t all_blocks = CollectiveSpec{call.collective, ranks, call.root}.blocks();
    const auto size = static_cast<std::int64_t>(size_of(call.type));
    if (!has_buffers(call.collective)) return 0;
    if (call.lengths != nullptr)
        return call.lengths->before(all_blocks) / (all_blocks > ranks ? ranks : 1) * size;
    return (all_blocks == 1 ? 1 : ranks) * call.count * size;
}

std::int64_t count_for(Collective collective, DataType type, int ranks, Bytes size) {
    if (!has_buffers(collective)) return 0;
    const Call one{.collective = collective, .type = type, .count = 1};
    const std::int64_t bytes_of_one = total_bytes(one, ranks);
    return divide_up(size.count, bytes_of_one);
}

InPlace in_place_offsets(const Call& call, int ranks, Rank rank) {
    const CollectiveSpec spec{call.collective, ranks, call.root};
    const Positions blocks(spec, rank);
    const Layout layout(call, spec, rank, static_cast<int>(spec.blocks()));
    return {layout.offset_of(blocks.larger(), blocks.first_input_in_place()),
            layout.offset_of(blocks.larger(), blocks.first_output_in_place())};
}

}  // namespace tutti
