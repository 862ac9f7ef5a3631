// SPDX-License-Identifier: Apache-2.0
// Calls whose blocks have different lengths: finds the lengths of all blocks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/index.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

std::string name_with_lengths(const Call& call) { return name_of_call(call.collective, true); }

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

// All ranks know whether they agree, and throw the same error.
void Communicator::State::exchange_lengths(const Call& call) {
    run(exchange_.all_gather(world.size()));
    const auto lengths = exchange_.agreed();
    if (lengths.empty()) {
        const auto [rank, of_ranks] = exchange_.mismatch();
        throw Error(
            fmt::format("rank {} expects other counts in {} than the ranks have for it ({}); use "
                        "the same count at both ends of each pair",
                        rank, name_with_lengths(call), fmt::join(of_ranks, ", ")));
    }
    lengths_.set(lengths);
}

void Communicator::State::exchange_with_root(const CallArguments& given,
                                             std::span<const std::int64_t> counts) {
    const Call& call = given.call;
    if (world.rank() == call.root) {
        check_counts(call, counts);
        exchange_.tell(std::array{at(counts, call.root.index)});
        exchange_.expect(counts);
    } else {
        exchange_.tell(std::array{length_of_own_block(given)});
    }
    exchange_lengths(call);
}

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
    exchange_.tell(counts.blocks);
    exchange_.expect(received);
    exchange_lengths(call);
}

}  // namespace tutti
