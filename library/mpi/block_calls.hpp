// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's collectives with blocks of different lengths (MPI_Gatherv, ...), as calls of tutti with
// such blocks. If no rank knows all lengths, the ranks exchange them first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>

#include "library/mpi/calls.hpp"

namespace tutti::calls {

/// Returns the call that moves blocks of the lengths of `ranks`, in bytes.
inline CallArguments moving_blocks(Collective collective, const Ranks& ranks,
                                   const CallBuffers& buffers, int root = 0) {
    const BlockLengths& lengths = ranks.lengths();
    CallArguments arguments = moving(collective, as_size(lengths.longest()), buffers.input,
                                     buffers.output, buffers.in_place, root);
    arguments.call.lengths = ranks.unequal_lengths();
    return arguments;
}

/// Returns the packed block that this rank sends, with the length that all ranks expect. They
/// differ only in a wrong program.
inline std::span<const std::byte> expected_block(Ranks& ranks, const TypedBuffer& block,
                                                 std::size_t expected,
                                                 std::span<const std::byte> output) {
    if (block.bytes == expected) return packed_apart_from(output, ranks, block);
    const std::span<std::byte> copy =
        ranks.scratch(Ranks::Scratch::input, std::max(block.bytes, expected));
    pack(block, copy.first(block.bytes), ranks.comm());
    return copy.first(expected);
}

template <class Next, class Count, class Displacement>
int all_gather_v(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
                 void* receive, const Count* counts, const Displacement* displacements,
                 MPI_Datatype type, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, counts, displacements, type, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::all_gather, comm);
    if (ranks == nullptr) return by_library();
    const BlockList all{receive, counts, displacements, type, ranks->size()};
    // Displacements may differ between ranks. Both ways lead to the same call of tutti, with the
    // same limits, so each rank can choose separately. The general way reports a wrong length.
    void* const blocks = all.equal_blocks();
    if (blocks != nullptr &&
        (send == MPI_IN_PLACE || length_of(send, send_count, send_type) == all.length(0)))
        return exchange_blocks(Collective::all_gather, by_library, send, send_count, send_type,
                               blocks, counts[0], type, comm);
    const std::int64_t longest = ranks->set_lengths(all.lengths());
    if (!is_for_tutti(longest, ranks->size())) return by_library();
    const auto by_tutti = [&] {
        const std::span<std::byte> place = all.place_for(*ranks);
        const int me = ranks->rank();
        const auto own =
            place.subspan(as_size(ranks->lengths().before(me)), as_size(ranks->lengths().of(me)));
        if (send == MPI_IN_PLACE) {
            if (!all.memory()) pack(all.block(me).value(), own, comm);
            ranks->run(moving_blocks(Collective::all_gather, *ranks, in_place(place)));
            return all.finish(place, comm);
        }
        const TypedBuffer given = known_block(send, send_count, send_type);
        const auto input = expected_block(*ranks, given, own.size(), place);
        ranks->run(moving_blocks(Collective::all_gather, *ranks, {input, place, false}));
        all.finish(place, comm);
        if (given.bytes > own.size())
            throw Error(fmt::format("this rank sends {} bytes; all ranks expect {}", given.bytes,
                                    own.size()));
    };
    return ranks->take_turn(
        {.kind = CallKind::all_gather, .has_lengths = ranks->unequal_lengths() != nullptr}, longest,
        by_library, by_tutti);
}

template <class Next, class Count, class Displacement>
int gather_v(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
             void* receive, const Count* counts, const Displacement* displacements,
             MPI_Datatype type, int root, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, counts, displacements, type, root, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::gather, comm);
    if (ranks == nullptr || ranks->never_meet() || !ranks->has(root)) return by_library();
    const bool is_root = ranks->rank() == root;
    const bool is_in_place = is_root && send == MPI_IN_PLACE;
    const BlockList all{receive, counts, displacements, type, ranks->size()};
    const auto tell = [&](BlockExchange& exchange) {
        exchange.tell(
            std::array{is_in_place ? all.length(root) : length_of(send, send_count, send_type)});
        if (is_root) exchange.expect(all.lengths());
    };
    return ranks->take_agreed_turn(CallKind::gather, root, by_library, tell, [&] {
        const TypedBuffer given =
            is_in_place ? all.block(root).value() : known_block(send, send_count, send_type);
        const auto place = is_root ? all.place_for(*ranks) : std::span<std::byte>{};
        ranks->run(moving_blocks(Collective::gather, *ranks,
                                 {packed_apart_from(place, *ranks, given), place, false}, root));
        if (is_root) all.finish(place, comm);
    });
}

template <class Next, class Count, class Displacement>
int scatter_v(const Next& next, const void* send, const Count* counts,
              const Displacement* displacements, MPI_Datatype send_type, void* receive, Count count,
              MPI_Datatype type, int root, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, counts, displacements, send_type, receive, count, type, root, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::scatter, comm);
    if (ranks == nullptr || ranks->never_meet() || !ranks->has(root)) return by_library();
    const bool is_root = ranks->rank() == root;
    const bool is_in_place = is_root && receive == MPI_IN_PLACE;
    const BlockList all{send, counts, displacements, send_type, ranks->size()};
    const auto tell = [&](BlockExchange& exchange) {
        exchange.tell(std::array{is_in_place ? all.length(root) : length_of(receive, count, type)});
        if (is_root) exchange.expect(all.lengths());
    };
    return ranks->take_agreed_turn(CallKind::scatter, root, by_library, tell, [&] {
        // In place, the root's own block stays where it is. It is received into scratch memory.
        const auto result = is_in_place ? std::nullopt : block_of(receive, count, type);
        const std::span<std::byte> place =
            result ? place_for(*ranks, *result)
                   : ranks->scratch(Ranks::Scratch::output, as_size(ranks->lengths().of(root)));
        const auto input = is_root ? all.packed(*ranks, place) : std::span<const std::byte>{};
        ranks->run(moving_blocks(Collective::scatter, *ranks, {input, place, false}, root));
        if (result) finish(*ranks, place, *result);
    });
}

template <class Next, class Count, class Displacement>
int all_to_all_v(const Next& next, const void* send, const Count* send_counts,
                 const Displacement* send_displacements, MPI_Datatype send_type, void* receive,
                 const Count* counts, const Displacement* displacements, MPI_Datatype type,
                 MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_counts, send_displacements, send_type, receive, counts,
                    displacements, type, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::all_to_all, comm);
    if (ranks == nullptr || ranks->never_meet()) return by_library();
    const BlockList all{receive, counts, displacements, type, ranks->size()};
    const BlockList given = send == MPI_IN_PLACE ? all
                                                 : BlockList{send, send_counts, send_displacements,
                                                             send_type, ranks->size()};
    const auto tell = [&](BlockExchange& exchange) {
        exchange.tell(given.lengths());
        exchange.expect(all.lengths());
    };
    return ranks->take_agreed_turn(CallKind::all_to_all, 0, by_library, tell, [&] {
        const std::span<std::byte> place = all.place_for(*ranks);
        ranks->run(moving_blocks(Collective::all_to_all, *ranks,
                                 {given.packed(*ranks, place), place, false}));
        all.finish(place, comm);
    });
}

template <class Next, class Count>
int reduce_scatter_counts(const Next& next, const void* send, void* receive, const Count* counts,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, counts, type, op, comm); };
    Ranks* const ranks = ranks_for(CallKind::reduce_scatter, comm);
    if (ranks == nullptr || counts == nullptr) return by_library();
    const std::span of_ranks(counts, as_size(ranks->size()));
    const std::int64_t longest = std::ranges::max(of_ranks);
    if (std::ranges::min(of_ranks) < 0 || !is_for_tutti(longest, ranks->size()))
        return by_library();
    auto call = combining(Collective::reduce_scatter, type, op, longest);
    if (!call) return by_library();
    // A complex number has two elements.
    ranks->set_lengths(of_ranks | std::views::transform([&](std::int64_t count) {
                           return count * (call->count / longest);
                       }));
    call->lengths = ranks->unequal_lengths();
    const auto all_counts = std::accumulate(of_ranks.begin(), of_ranks.end(), std::int64_t{0});
    const ProgramCall given_call{.kind = CallKind::reduce_scatter,
                                 .has_lengths = call->lengths != nullptr};
    return reduce_scatter(*ranks, by_library, given_call, *call, send, receive,
                          counts[ranks->rank()], all_counts, type);
}

}  // namespace tutti::calls
