// SPDX-License-Identifier: Apache-2.0
// Calls whose blocks have different lengths: finds the lengths of all blocks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/hashes.hpp"
#include "base/index.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

std::string name_with_lengths(const Call& call) { return name_of_call(call.collective, true); }

// Gathers the same on all ranks; with lengths, blocks of these.
CallArguments exchange_of(std::span<const std::int64_t> mine, std::span<std::int64_t> all,
                          const BlockLengths* lengths) {
    const Call call{.collective = Collective::all_gather,
                    .type = DataType::int64,
                    .count = lengths != nullptr ? lengths->longest() : std::ssize(mine),
                    .lengths = lengths};
    return {call, {std::as_bytes(mine), std::as_writable_bytes(all), false}};
}

// Returns the elements of the one block that a rank has which is not the root.
std::int64_t length_of_own_block(const CallArguments& given) {
    const Call& call = given.call;
    const bool is_input = call.collective == Collective::gather && !given.buffers.in_place;
    const std::size_t bytes = is_input ? given.buffers.input.size() : given.buffers.output.size(),
                      element = size_of(call.type);
    if (bytes % element != 0)
        throw Error(
            fmt::format("{} of {} has {} bytes, which are not whole elements of {}; use a "
                        "multiple of {}",
                        is_input ? "input" : "output", name_with_lengths(call), bytes,
                        name_of(call.type), element));
    return static_cast<std::int64_t>(bytes / element);
}

// A short fingerprint of the counts that a rank expects from its peers.
std::int64_t hash_of(std::span<const std::int64_t> counts) {
    return std::bit_cast<std::int64_t>(fnv1a(std::as_bytes(counts)));
}

}  // namespace

// All sums of valid counts fit into 63 bits, in bytes.
void Communicator::State::check_counts(const Call& call,
                                       std::span<const std::int64_t> counts) const {
    const std::int64_t ranks = world.size();
    if (std::ssize(counts) != ranks)
        throw Error(fmt::format("{} has {} counts for {} ranks; give one for each rank",
                                name_with_lengths(call), counts.size(), ranks));
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() / (ranks * ranks) /
                              static_cast<std::int64_t>(size_of(call.type));
    for (const Rank rank : all_ranks(world.size()))
        if (const std::int64_t count = at(counts, rank.index); count < 0 || count > most)
            throw Error(fmt::format("the count {} for rank {} in {} is out of range; use 0 to {}",
                                    count, rank.index, name_with_lengths(call), most));
}

CallArguments Communicator::State::with_lengths(CallArguments given, const BlockCounts& counts) {
    if (is_broken) refuse();
    Call& call = given.call;
    check_root(call);
    switch (call.collective) {
        case Collective::all_gather:
        case Collective::reduce_scatter:
            check_counts(call, counts.blocks);
            lengths_.set(counts.blocks);
            break;
        case Collective::gather:
        case Collective::scatter:
            exchange_with_root(given, counts.blocks);
            break;
        case Collective::all_to_all:
            exchange_of_pairs(given, counts);
            break;
        default:
            throw Error(fmt::format("{} has one block, which needs no counts; call it without",
                                    name_of(call.collective)));
    }
    call.count = lengths_.longest();
    call.lengths = world.size() == 1 ? nullptr : &lengths_;  // a single block has that length
    return given;
}

// The root sends its counts, the others their own ones. So all ranks can compare them, and throw
// the same error.
void Communicator::State::exchange_with_root(const CallArguments& given,
                                             std::span<const std::int64_t> counts) {
    const Call& call = given.call;
    const std::size_t ranks = as_size(world.size()), root = as_size(call.root);
    if (world.rank() == call.root) {
        check_counts(call, counts);
        my_counts_.assign(counts.begin(), counts.end());
    } else {
        my_counts_.assign(1, length_of_own_block(given));
    }
    if (ranks == 1) return lengths_.set(counts);
    all_counts_.assign(ranks, 1);
    all_counts_[root] = world.size();
    lengths_of_exchange_.set(all_counts_);
    all_counts_.resize(2 * ranks - 1);
    run(exchange_of(my_counts_, all_counts_, &lengths_of_exchange_));
    const auto of_root = std::span(all_counts_).subspan(root, ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::size_t at = rank < root ? rank : rank + ranks - 1;
        if (rank != root && all_counts_[at] != of_root[rank])
            throw Error(
                fmt::format("rank {} has {} elements in {}, but the root {} counts {} for "
                            "it; use the same length on both",
                            rank, all_counts_[at], name_with_lengths(call), root, of_root[rank]));
    }
    lengths_.set(of_root);
}

// Each rank sends its row of the matrix of counts, and a fingerprint of its column. So all ranks
// know whether they agree, and throw the same error.
void Communicator::State::exchange_of_pairs(const CallArguments& given, const BlockCounts& counts) {
    const Call& call = given.call;
    const auto received =
        given.buffers.in_place && counts.received.empty() ? counts.blocks : counts.received;
    check_counts(call, counts.blocks);
    check_counts(call, received);
    if (given.buffers.in_place && !std::ranges::equal(counts.blocks, received))
        throw Error(
            fmt::format("in place, {} sends to each rank as much as it receives from it; "
                        "use the same counts, or two buffers",
                        name_with_lengths(call)));
    const std::size_t ranks = as_size(world.size()), line = ranks + 1;
    my_counts_.assign(counts.blocks.begin(), counts.blocks.end());
    my_counts_.push_back(hash_of(received));
    all_counts_.resize(ranks * line);
    run(exchange_of(my_counts_, all_counts_, nullptr));
    for (std::size_t to = 0; to < ranks; ++to) {
        my_counts_.clear();
        for (std::size_t from = 0; from < ranks; ++from)
            my_counts_.push_back(all_counts_[from * line + to]);
        if (hash_of(my_counts_) != all_counts_[to * line + ranks])
            throw Error(
                fmt::format("rank {} expects other counts in {} than the ranks send to it "
                            "({}); use the same count at both ends of each pair",
                            to, name_with_lengths(call), fmt::join(my_counts_, ", ")));
    }
    for (std::size_t from = 1; from < ranks; ++from)
        std::ranges::copy(std::span(all_counts_).subspan(from * line, ranks),
                          all_counts_.begin() + static_cast<std::ptrdiff_t>(from * ranks));
    lengths_.set(std::span(all_counts_).first(ranks * ranks));
}

}  // namespace tutti
