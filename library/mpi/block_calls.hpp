// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's collectives with blocks of different sizes (MPI_Gatherv, ...), as calls of tutti with equal
// blocks: each block is sent in a slot that is large enough for any of them. If no rank knows all
// sizes, the ranks agree on them first.
#include <numeric>

#include "library/mpi/calls.hpp"

namespace tutti::calls {

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
    const BlockSizes sizes = all.sizes();
    const auto slot = slot_for(sizes, ranks->size());
    if (!slot) return by_library();
    const bool is_in_place = send == MPI_IN_PLACE;
    const auto bytes = static_cast<std::int64_t>(*slot);
    if (!sizes.are_equal() && !ranks->may_meet(CallKind::all_gather))
        return ranks->passed(CallKind::all_gather, bytes, by_library);
    return ranks->take_turn(CallKind::all_gather, bytes, 0, by_library, [&] {
        const TypedBuffer given = is_in_place ? all.block(ranks->rank()).value()
                                              : known_block(send, send_count, send_type);
        const std::span<std::byte> place = all.place_for(*ranks, *slot);
        CallBuffers buffers = in_place(place);
        if (!is_in_place)
            buffers = {in_slot(*ranks, given, *slot, place), place, false};
        else if (place.data() != receive)
            pack(given, place.subspan(*slot * as_size(ranks->rank()), given.bytes), comm);
        ranks->run(moving(Collective::all_gather, *slot, buffers));
        must_fit(given, *slot);
        all.finish(place, *slot, comm);
    });
}

template <class Next, class Count, class Displacement>
int gather_v(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
             void* receive, const Count* counts, const Displacement* displacements,
             MPI_Datatype type, int root, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, counts, displacements, type, root, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::gather, comm);
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const bool is_root = ranks->rank() == root;
    const BlockList all{receive, counts, displacements, type, ranks->size()};
    const BlockSizes known = is_root ? all.sizes() : BlockSizes::unknown();
    const bool is_in_place = is_root && send == MPI_IN_PLACE;
    const std::int64_t own = is_in_place ? 0 : bytes_or_most(send, send_count, send_type);
    return ranks->take_agreed_turn(
        CallKind::gather, known, own, root, by_library, [&](std::size_t slot) {
            if (!is_root) {
                const TypedBuffer given = known_block(send, send_count, send_type);
                return ranks->run(moving(Collective::gather, slot,
                                         {in_slot(*ranks, given, slot, {}), {}, false}, root));
            }
            const TypedBuffer given =
                is_in_place ? all.block(root).value() : known_block(send, send_count, send_type);
            const std::span<std::byte> place = all.place_for(*ranks, slot);
            ranks->run(moving(Collective::gather, slot,
                              {in_slot(*ranks, given, slot, place), place, false}, root));
            all.finish(place, slot, comm);
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
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const bool is_root = ranks->rank() == root;
    const BlockList all{send, counts, displacements, send_type, ranks->size()};
    const BlockSizes known = is_root ? all.sizes() : BlockSizes::unknown();
    const bool is_in_place = is_root && receive == MPI_IN_PLACE;
    const std::int64_t own = is_in_place ? 0 : bytes_or_most(receive, count, type);
    return ranks->take_agreed_turn(
        CallKind::scatter, known, own, root, by_library, [&](std::size_t slot) {
            const TypedBuffer result =
                is_in_place ? TypedBuffer{} : known_block(receive, count, type);
            const bool is_direct = result.is_dense && result.bytes == slot;
            const std::span<std::byte> place =
                is_direct ? result.memory() : ranks->scratch(Ranks::Scratch::output, slot);
            const auto input =
                is_root ? all.in_slots(*ranks, slot, place) : std::span<const std::byte>{};
            ranks->run(moving(Collective::scatter, slot, {input, place, false}, root));
            if (!is_direct) unpack(place.first(result.bytes), result, comm);
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
    if (ranks == nullptr) return by_library();
    const BlockList all{receive, counts, displacements, type, ranks->size()};
    const bool is_in_place = send == MPI_IN_PLACE;
    const BlockList given =
        is_in_place ? all
                    : BlockList{send, send_counts, send_displacements, send_type, ranks->size()};
    return ranks->take_agreed_turn(
        CallKind::all_to_all, all.sizes().with(given.sizes()), 0, 0, by_library,
        [&](std::size_t slot) {
            const std::span<std::byte> place = all.place_for(*ranks, slot);
            ranks->run(moving(Collective::all_to_all, slot,
                              {given.in_slots(*ranks, slot, place), place, false}));
            all.finish(place, slot, comm);
        });
}

/// Greatest bytes of all blocks together for which reducing all of them on every rank pays.
inline constexpr std::int64_t most_summed = std::int64_t{32} << 10;

/// MPI_Reduce_scatter. With different counts, all ranks reduce all blocks and each takes its own.
template <class Next, class Count>
int reduce_scatter_counts(const Next& next, const void* send, void* receive, const Count* counts,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, counts, type, op, comm); };
    Ranks* const ranks = ranks_for(CallKind::reduce_scatter, comm);
    if (ranks == nullptr || counts == nullptr) return by_library();
    const std::span of_ranks(counts, as_size(ranks->size()));
    if (std::ranges::all_of(of_ranks, [&](Count count) { return count == counts[0]; }))
        return reduce_scatter(*ranks, by_library, send, receive, counts[0], type, op);

    // Ensures that the sums below do not overflow.
    if (std::ranges::any_of(of_ranks, [](Count count) { return count < 0 || count > most_summed; }))
        return by_library();
    const auto before = of_ranks.first(as_size(ranks->rank()));
    const auto first = std::accumulate(before.begin(), before.end(), std::int64_t{0});
    const auto total = std::accumulate(of_ranks.begin(), of_ranks.end(), std::int64_t{0});
    const auto call = combining(Collective::all_reduce, type, op, total);
    const auto given = TypedBuffer::of(send == MPI_IN_PLACE ? receive : send, total, type);
    if (!call || !given || size_of(*given) > most_summed) return by_library();
    const std::int64_t of_each = size_of(*given) / ranks->size();
    if (!ranks->may_meet(CallKind::reduce_scatter))
        return ranks->passed(CallKind::reduce_scatter, of_each, by_library);
    return ranks->take_turn(CallKind::reduce_scatter, of_each, 0, by_library, [&] {
        const std::span<std::byte> sums = ranks->scratch(Ranks::Scratch::output, given->bytes);
        ranks->run({*call, {given->memory(), sums, false}});
        const std::size_t of_one = given->bytes / as_size(total);
        const auto mine = sums.subspan(of_one * as_size(first),
                                       of_one * as_size(std::int64_t{counts[ranks->rank()]}));
        std::ranges::copy(mine, static_cast<std::byte*>(receive));
    });
}

}  // namespace tutti::calls
