// SPDX-License-Identifier: Apache-2.0
#pragma once
// MPI's collectives as calls of tutti. Each function gets the MPI library's function `next` and
// MPI's arguments, with int or MPI_Count counts, and returns an MPI error code. All ranks must
// decide alike whether tutti does a call. So the decision depends only on arguments that are equal
// on all ranks: communicator, collective, number of bytes, and in a reduction type and operation.
// It never depends on addresses, nor on datatypes where data is only moved, because one rank may
// send vectors that another receives as integers. Arguments that only matter at the root are read
// only there.
#include <mpi.h>

#include "library/mpi/buffers.hpp"
#include "library/mpi/types.hpp"

namespace tutti::calls {

/// Returns a call that only moves data. It is built in place: copying its buffers would stall on
/// store forwarding (see CodeIfDone).
inline CallArguments moving(Collective collective, std::size_t bytes,
                            std::span<const std::byte> input, std::span<std::byte> output,
                            bool is_in_place, int root = 0) {
    return {{.collective = collective,
             .type = DataType::uint8,
             .root = Rank{root},
             .count = static_cast<std::int64_t>(bytes)},
            {input, output, is_in_place}};
}

inline CallBuffers in_place(std::span<std::byte> memory) { return {memory, memory, true}; }

/// Returns the call of a reduction; nullopt if tutti does not support the type or the operation.
inline std::optional<Call> combining(Collective collective, MPI_Datatype type, MPI_Op op,
                                     std::int64_t count, int root = 0) {
    const bool is_in_range = count > 0 && count <= std::int64_t{most_bytes};
    const NamedType* const named = is_in_range ? named_type(type) : nullptr;
    const auto reduction = named != nullptr ? reduction_of(*named, op) : std::nullopt;
    if (!reduction) return std::nullopt;
    return Call{collective, reduction->type, reduction->op, Rank{root},
                reduction->elements * count};
}

/// Returns a reduction as the program calls it. `receive`: null where it is not significant.
inline ProgramCall program_call(CallKind kind, const void* send, const void* receive,
                                std::int64_t count, MPI_Datatype type, MPI_Op op, int root = 0) {
    return {.kind = kind,
            .root = root,
            .send = send,
            .receive = receive,
            .count = count,
            .send_type = type,
            .type = type,
            .op = op};
}

/// Returns the buffer; nullopt if it is not given or the MPI library must do the call. It is built
/// in place, see moving().
inline std::optional<TypedBuffer> second_buffer(bool is_given, const void* address,
                                                std::int64_t count, MPI_Datatype type) {
    if (!is_given) return std::nullopt;
    return TypedBuffer::of(address, count, type);
}

/// Returns whether all blocks together are within the limit.
inline bool fits(const TypedBuffer& block, int blocks) {
    return block.bytes * as_size(blocks) <= most_bytes;
}

/// Returns the size of a rank's vector or block as the collective reports it.
inline std::int64_t size_of(const TypedBuffer& buffer) {
    return static_cast<std::int64_t>(buffer.bytes);
}

template <class Next, class Count>
int all_reduce(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
               MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, count, type, op, comm); };
    Ranks* const ranks = ranks_for(CallKind::all_reduce, comm);
    if (ranks == nullptr) return by_library();
    const ProgramCall given_call =
        program_call(CallKind::all_reduce, send, receive, count, type, op);
    if (const auto code = ranks->repeat(given_call, by_library)) return *code;
    const auto call = combining(Collective::all_reduce, type, op, count);
    if (!call) return by_library();
    const bool is_in_place = send == MPI_IN_PLACE;
    const auto result = TypedBuffer::of(receive, count, type);
    const auto given = second_buffer(!is_in_place, send, count, type);
    if (!result || (!is_in_place && !given)) return by_library();
    return ranks->take_turn(given_call, size_of(*result), by_library, [&] {
        const std::span<std::byte> output = result->memory();
        if (is_in_place) return ranks->run({*call, in_place(output)});
        ranks->run({*call, {packed_apart_from(output, *ranks, *given), output, false}});
    });
}

template <class Next, class Count>
int reduce(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
           MPI_Op op, int root, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, count, type, op, root, comm); };
    Ranks* const ranks = ranks_for(CallKind::reduce, comm);
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const bool is_root = ranks->rank() == root;
    const ProgramCall given_call =
        program_call(CallKind::reduce, send, is_root ? receive : nullptr, count, type, op, root);
    if (const auto code = ranks->repeat(given_call, by_library)) return *code;
    const bool is_in_place = is_root && send == MPI_IN_PLACE;
    const auto call = combining(Collective::reduce, type, op, count, root);
    if (!call) return by_library();
    const auto given = TypedBuffer::of(is_in_place ? receive : send, count, type);
    if (!given || (is_root && !TypedBuffer::of(receive, count, type))) return by_library();
    return ranks->take_turn(given_call, size_of(*given), by_library, [&] {
        const std::span<std::byte> output{static_cast<std::byte*>(receive),
                                          is_root ? given->bytes : 0};
        ranks->run(
            {*call,
             {is_in_place ? copied(*ranks, *given) : packed_apart_from(output, *ranks, *given),
              output, false}});
    });
}

template <class Next, class Count>
int broadcast(const Next& next, void* data, Count count, MPI_Datatype type, int root,
              MPI_Comm comm) {
    const auto by_library = [&] { return next(data, count, type, root, comm); };
    Ranks* const ranks = ranks_for(CallKind::broadcast, comm);
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const ProgramCall call{.kind = CallKind::broadcast,
                           .root = root,
                           .receive = data,
                           .count = count,
                           .send_type = type,
                           .type = type};
    if (const auto code = ranks->repeat(call, by_library)) return *code;
    const auto buffer = TypedBuffer::of(data, count, type);
    if (!buffer) return by_library();
    return ranks->take_turn(call, size_of(*buffer), by_library, [&] {
        const bool is_root = ranks->rank() == root;
        const std::span<std::byte> place = place_for(*ranks, *buffer);
        if (is_root && !buffer->is_dense) pack(*buffer, place, comm);
        ranks->run(moving(Collective::broadcast, buffer->bytes, place, place, true, root));
        if (!is_root) finish(*ranks, place, *buffer);
    });
}

/// MPI_Allgather and MPI_Alltoall, which differ in how many blocks a rank sends.
template <class Library, class Count>
int exchange_blocks(Collective collective, const Library& by_library, const void* send,
                    Count send_count, MPI_Datatype send_type, void* receive, Count count,
                    MPI_Datatype type, MPI_Comm comm) {
    const auto kind = static_cast<CallKind>(collective);
    Ranks* const ranks = ranks_for(kind, comm);
    if (ranks == nullptr) return by_library();
    const bool is_in_place = send == MPI_IN_PLACE;
    const ProgramCall call{.kind = kind,
                           .send = send,
                           .receive = receive,
                           .send_count = is_in_place ? 0 : send_count,
                           .count = count,
                           .send_type = is_in_place ? type : send_type,
                           .type = type};
    if (const auto code = ranks->repeat(call, by_library)) return *code;
    const auto block = TypedBuffer::of(receive, count, type);
    if (!block || !fits(*block, ranks->size())) return by_library();
    const auto given = second_buffer(!is_in_place, send, send_count, send_type);
    if (!is_in_place && !given) return by_library();
    return ranks->take_turn(call, size_of(*block), by_library, [&] {
        const bool sends_all = collective == Collective::all_to_all;
        const std::int64_t sent_blocks = sends_all ? ranks->size() : 1;
        const TypedBuffer all = block->part(0, std::int64_t{count} * ranks->size());
        const std::span<std::byte> place = place_for(*ranks, all);
        if (is_in_place && !all.is_dense) {
            const int first = sends_all ? 0 : ranks->rank();
            const TypedBuffer input = all.part(std::int64_t{count} * first, count * sent_blocks);
            pack(input, place.subspan(block->bytes * as_size(first), input.bytes), comm);
        }
        std::span<const std::byte> input = place;
        if (!is_in_place)
            input = packed_apart_from(place, *ranks, given->part(0, send_count * sent_blocks));
        ranks->run(moving(collective, block->bytes, input, place, is_in_place));
        finish(*ranks, place, all);
    });
}

template <class Next, class Count>
int all_gather(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
               void* receive, Count count, MPI_Datatype type, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, count, type, comm);
    };
    return exchange_blocks(Collective::all_gather, by_library, send, send_count, send_type, receive,
                           count, type, comm);
}

template <class Next, class Count>
int all_to_all(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
               void* receive, Count count, MPI_Datatype type, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, count, type, comm);
    };
    return exchange_blocks(Collective::all_to_all, by_library, send, send_count, send_type, receive,
                           count, type, comm);
}

template <class Next, class Count>
int gather(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
           void* receive, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, count, type, root, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::gather, comm);
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const int size = ranks->size();
    const bool is_root = ranks->rank() == root;
    const bool is_in_place = is_root && send == MPI_IN_PLACE;
    const ProgramCall call{.kind = CallKind::gather,
                           .root = root,
                           .send = send,
                           .receive = is_root ? receive : nullptr,
                           .send_count = is_in_place ? 0 : send_count,
                           .count = is_root ? count : 0,
                           .send_type = is_in_place ? type : send_type,
                           .type = is_root ? type : send_type};
    if (const auto code = ranks->repeat(call, by_library)) return *code;
    const auto block = is_root ? TypedBuffer::of(receive, count, type)
                               : TypedBuffer::of(send, send_count, send_type);
    if (!block || !fits(*block, size)) return by_library();
    const bool is_apart = is_root && !is_in_place;
    const auto own = second_buffer(is_apart, send, send_count, send_type);
    if (is_apart && !own) return by_library();
    const TypedBuffer& given = own ? *own : *block;
    return ranks->take_turn(call, size_of(*block), by_library, [&] {
        if (!is_root)
            return ranks->run(
                moving(Collective::gather, block->bytes, packed(*ranks, given), {}, false, root));
        const TypedBuffer all = block->part(0, std::int64_t{count} * size);
        const std::span<std::byte> place = place_for(*ranks, all);
        ranks->run(moving(Collective::gather, block->bytes,
                          is_in_place ? copied(*ranks, all.part(std::int64_t{count} * root, count))
                                      : packed_apart_from(place, *ranks, given),
                          place, false, root));
        finish(*ranks, place, all);
    });
}

template <class Next, class Count>
int scatter(const Next& next, const void* send, Count send_count, MPI_Datatype send_type,
            void* receive, Count count, MPI_Datatype type, int root, MPI_Comm comm) {
    const auto by_library = [&] {
        return next(send, send_count, send_type, receive, count, type, root, comm);
    };
    Ranks* const ranks = ranks_for(CallKind::scatter, comm);
    if (ranks == nullptr || !ranks->has(root)) return by_library();
    const int size = ranks->size();
    const bool is_root = ranks->rank() == root;
    const bool is_in_place = is_root && receive == MPI_IN_PLACE;
    const ProgramCall call{.kind = CallKind::scatter,
                           .root = root,
                           .send = is_root ? send : nullptr,
                           .receive = receive,
                           .send_count = is_root ? send_count : 0,
                           .count = is_in_place ? 0 : count,
                           .send_type = is_root ? send_type : type,
                           .type = is_in_place ? send_type : type};
    if (const auto code = ranks->repeat(call, by_library)) return *code;
    const auto block = is_root ? TypedBuffer::of(send, send_count, send_type)
                               : TypedBuffer::of(receive, count, type);
    if (!block || !fits(*block, size)) return by_library();
    const bool is_apart = is_root && !is_in_place;
    const auto own = second_buffer(is_apart, receive, count, type);
    if (is_apart && !own) return by_library();
    const TypedBuffer& result = own ? *own : *block;
    return ranks->take_turn(call, size_of(*block), by_library, [&] {
        // In place, the root's own block stays where it is. It is received into scratch memory.
        const std::span<std::byte> place =
            is_in_place ? ranks->scratch(Ranks::Scratch::output, block->bytes)
                        : place_for(*ranks, result);
        const auto input = [&]() -> std::span<const std::byte> {
            if (!is_root) return {};
            const TypedBuffer all = block->part(0, std::int64_t{send_count} * size);
            return packed_apart_from(place, *ranks, all);
        };
        ranks->run(moving(Collective::scatter, block->bytes, input(), place, false, root));
        if (!is_in_place) finish(*ranks, place, result);
    });
}

/// Implements both forms of MPI's reduce-scatter. `count`: elements of this rank's block. MPI does
/// not require that all ranks are in place, so tutti's call is never in place.
template <class Library>
int reduce_scatter(Ranks& ranks, const Library& by_library, const ProgramCall& given_call,
                   const Call& call, const void* send, void* receive, std::int64_t count,
                   std::int64_t all_counts, MPI_Datatype type) {
    const bool is_in_place = send == MPI_IN_PLACE;
    const auto given = TypedBuffer::of(is_in_place ? receive : send, all_counts, type);
    const auto result = block_of(receive, count, type);
    if (!given || !result || !is_for_tutti(block_bytes(call), ranks.size())) return by_library();
    return ranks.take_turn(given_call, block_bytes(call), by_library, [&] {
        const std::span<std::byte> output = result->memory();
        ranks.run({call,
                   {is_in_place ? copied(ranks, *given) : packed_apart_from(output, ranks, *given),
                    output, false}});
    });
}

template <class Next, class Count>
int reduce_scatter_block(const Next& next, const void* send, void* receive, Count count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, count, type, op, comm); };
    Ranks* const ranks = ranks_for(CallKind::reduce_scatter, comm);
    if (ranks == nullptr) return by_library();
    const ProgramCall given_call =
        program_call(CallKind::reduce_scatter, send, receive, count, type, op);
    if (const auto code = ranks->repeat(given_call, by_library)) return *code;
    const auto call = combining(Collective::reduce_scatter, type, op, count);
    if (!call) return by_library();
    const std::int64_t all_counts = std::int64_t{count} * ranks->size();
    return reduce_scatter(*ranks, by_library, given_call, *call, send, receive, count, all_counts,
                          type);
}

template <class Next>
int barrier(const Next& next, MPI_Comm comm) {
    const auto by_library = [&] { return next(comm); };
    Ranks* const ranks = ranks_for(CallKind::barrier, comm);
    if (ranks == nullptr) return by_library();
    if (ranks->leaves_barriers()) return ranks->passed(CallKind::barrier, 0, by_library);
    const ProgramCall call{.kind = CallKind::barrier, .send_type = MPI_BYTE, .type = MPI_BYTE};
    if (const auto code = ranks->repeat(call, by_library)) return *code;
    return ranks->take_turn(call, 0, by_library, [&] { ranks->run(arguments::barrier()); });
}

/// Least bytes of a vector. The MPI library passes shorter vectors on without waiting.
inline constexpr std::size_t least_scanned = 512;

/// MPI_Scan and MPI_Exscan.
template <class Next, class Count>
int scan_as(Collective collective, const Next& next, const void* send, void* receive, Count count,
            MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const auto by_library = [&] { return next(send, receive, count, type, op, comm); };
    const auto kind = static_cast<CallKind>(collective);
    Ranks* const ranks = ranks_for(kind, comm);
    if (ranks == nullptr) return by_library();
    const bool is_in_place = send == MPI_IN_PLACE;
    const auto call = combining(collective, type, op, count);
    const auto given = TypedBuffer::of(is_in_place ? receive : send, count, type);
    if (!call || !given) return by_library();
    const bool pays = given->bytes >= least_scanned || preloaded.always;
    if (!pays || !ranks->may_meet(kind)) return ranks->passed(kind, size_of(*given), by_library);
    return ranks->take_turn({kind}, size_of(*given), by_library, [&] {
        const bool has_output = is_in_place || collective == Collective::scan || ranks->rank() > 0;
        const std::span<std::byte> output{static_cast<std::byte*>(receive),
                                          has_output ? given->bytes : 0};
        if (is_in_place) return ranks->run({*call, in_place(output)});
        ranks->run({*call, {packed_apart_from(output, *ranks, *given), output, false}});
    });
}

template <class Next, class Count>
int scan(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
         MPI_Op op, MPI_Comm comm) {
    return scan_as(Collective::scan, next, send, receive, count, type, op, comm);
}

/// MPI leaves the result on rank 0 undefined. Here it stays unchanged.
template <class Next, class Count>
int exscan(const Next& next, const void* send, void* receive, Count count, MPI_Datatype type,
           MPI_Op op, MPI_Comm comm) {
    return scan_as(Collective::exscan, next, send, receive, count, type, op, comm);
}

}  // namespace tutti::calls
