// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's scans: all ranks get all vectors, and each combines those of the ranks before it, in their
// order. As long as vectors are short that is one exchange instead of a chain through all ranks.
#include "library/mpi/calls.hpp"

namespace tutti::calls {

/// Bytes of a vector: shorter ones the library passes on without waiting for anyone.
inline constexpr std::size_t least_scanned = 512;
/// Bytes of all vectors together, up to which an exchange of all pays.
inline constexpr std::size_t most_scanned = std::size_t{64} << 10;

template <class Next, class Count>
int scan_as(CallKind kind, const Next& next, const void* send, void* receive, Count count,
            MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, count, type, op, comm); };
    Ranks* const ranks = ranks_for(kind, comm);
    if (ranks == nullptr) return by_library();
    const auto call = combining(Collective::all_reduce, type, op, count);
    const auto given = TypedBuffer::of(send == MPI_IN_PLACE ? receive : send, count, type);
    if (!call || !given) return by_library();
    const bool pays = (given->bytes >= least_scanned || preloaded.always) &&
                      given->bytes <= most_scanned / as_size(ranks->size());
    if (!pays || !ranks->may_meet(kind)) return ranks->passed(kind, size_of(*given), by_library);
    return ranks->take_turn(kind, size_of(*given), 0, by_library, [&] {
        const std::size_t bytes = given->bytes;
        const std::span<std::byte> all =
            ranks->scratch(Ranks::Scratch::output, bytes * as_size(ranks->size()));
        ranks->run(moving(Collective::all_gather, bytes, {given->memory(), all, false}));
        const int vectors = ranks->rank() + (kind == CallKind::scan ? 1 : 0);
        ranks->combine(*call, all, vectors, static_cast<std::byte*>(receive));
    });
}

template <class Next, class Count>
int scan(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
         MPI_Op op, MPI_Comm comm) {
    return scan_as(CallKind::scan, next, send, receive, count, type, op, comm);
}

/// What it leaves on rank 0 MPI does not say: what was there.
template <class Next, class Count>
int exscan(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
           MPI_Op op, MPI_Comm comm) {
    return scan_as(CallKind::exscan, next, send, receive, count, type, op, comm);
}

}  // namespace tutti::calls
