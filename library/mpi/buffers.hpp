// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "library/mpi/ranks.hpp"

namespace tutti {

/// Elements of a datatype as MPI's arguments describe them.
struct TypedBuffer {
    void* address = nullptr;
    std::int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::size_t bytes = 0;  ///< of the elements, without gaps: the same on all ranks
    bool is_dense = false;  ///< they lie in a row as they are sent

    /// Nothing where the library is to look at the call: without elements, huge, wrong.
    static std::optional<TypedBuffer> of(const void* address, std::int64_t count,
                                         MPI_Datatype type);

    std::span<std::byte> memory() const { return {static_cast<std::byte*>(address), bytes}; }
    /// The elements from `first` on.
    TypedBuffer part(std::int64_t first, std::int64_t of_count) const;
};

/// The elements in a row: where they are, or packed into scratch memory.
std::span<const std::byte> packed(Ranks& ranks, const TypedBuffer& buffer);

/// The same, copied in either case, as the call overwrites them where they are.
std::span<const std::byte> copied(Ranks& ranks, const TypedBuffer& buffer);

/// The same; copied if they overlap with the output.
std::span<const std::byte> packed_apart_from(std::span<const std::byte> output, Ranks& ranks,
                                             const TypedBuffer& buffer);

/// Where a call writes: the elements' own memory, or scratch memory from which finish() brings them
/// there.
std::span<std::byte> place_for(Ranks& ranks, const TypedBuffer& buffer);
void finish(Ranks& ranks, std::span<const std::byte> place, const TypedBuffer& buffer);

/// Elements into a row of as many bytes, and back.
void pack(const TypedBuffer& from, std::span<std::byte> to, MPI_Comm comm);
void unpack(std::span<const std::byte> from, const TypedBuffer& to, MPI_Comm comm);

}  // namespace tutti
