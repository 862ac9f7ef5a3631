// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>

#include "library/mpi/ranks.hpp"
#include "library/mpi/types.hpp"

namespace tutti {

/// A buffer as described by MPI's arguments.
struct TypedBuffer {
    void* address = nullptr;
    std::int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::size_t bytes = 0;  ///< without gaps; equal on all ranks
    bool is_dense = false;  ///< the elements are contiguous
    std::size_t bytes_of_element = 0;

    /// Returns nullopt if the MPI library must do the call: it is empty, too large or invalid.
    static std::optional<TypedBuffer> of(const void* address, std::int64_t count,
                                         MPI_Datatype type) {
        if (count <= 0 || type == MPI_DATATYPE_NULL || address == MPI_IN_PLACE) return std::nullopt;
        const NamedType* const named = named_type(type);
        if (named != nullptr && address == nullptr) return std::nullopt;
        TypedBuffer buffer{const_cast<void*>(address), count, type};
        const std::int64_t size = named != nullptr ? named->size : size_of_created(type);
        if (size <= 0 || __builtin_mul_overflow(count, size, &buffer.bytes) ||
            buffer.bytes > most_bytes)
            return std::nullopt;
        buffer.is_dense = named != nullptr && named->is_dense;
        buffer.bytes_of_element = as_size(size);
        return buffer;
    }

    std::span<std::byte> memory() const { return {static_cast<std::byte*>(address), bytes}; }
    /// Returns `of_count` elements from element `first` on.
    TypedBuffer part(std::int64_t first, std::int64_t of_count) const;

private:
    /// Returns the size of a type that the program has created; 0 if it has none.
    static std::int64_t size_of_created(MPI_Datatype type);
};

/// Returns the packed elements: in place if they are dense, else in scratch memory.
std::span<const std::byte> packed(Ranks& ranks, const TypedBuffer& buffer);

/// Returns a packed copy in scratch memory, for elements that the call overwrites.
std::span<const std::byte> copied(Ranks& ranks, const TypedBuffer& buffer);

/// Like packed(), but copies elements that overlap with the output.
std::span<const std::byte> packed_apart_from(std::span<const std::byte> output, Ranks& ranks,
                                             const TypedBuffer& buffer);

/// Returns the memory that a call writes: that of the elements if they are dense, else scratch
/// memory. finish() unpacks scratch memory into the elements.
std::span<std::byte> place_for(Ranks& ranks, const TypedBuffer& buffer);
void finish(Ranks& ranks, std::span<const std::byte> place, const TypedBuffer& buffer);

/// Pack elements into contiguous bytes, and unpack them.
void pack(const TypedBuffer& from, std::span<std::byte> to, MPI_Comm comm);
void unpack(std::span<const std::byte> from, const TypedBuffer& to, MPI_Comm comm);

/// Like TypedBuffer::of(), but also accepts empty buffers.
std::optional<TypedBuffer> block_of(const void* address, std::int64_t count, MPI_Datatype type);

/// Returns the length of the block in bytes; invalid_length if the MPI library must check the
/// arguments.
inline std::int64_t length_of(const void* address, std::int64_t count, MPI_Datatype type) {
    const auto block = block_of(address, count, type);
    return block ? static_cast<std::int64_t>(block->bytes) : invalid_length;
}

/// The blocks of all ranks as in MPI_Gatherv and similar calls, with counts and displacements in
/// elements. Calls of tutti need them side by side in the order of the ranks.
template <class Count, class Displacement>
struct BlockList {
    const void* address;
    const Count* counts;
    const Displacement* displacements;
    MPI_Datatype type;
    int ranks;

    std::optional<TypedBuffer> block(int rank) const {
        auto block = block_of(address, counts[rank], type);
        if (block && block->count > 0) block = block->part(displacements[rank], block->count);
        return block;
    }
    std::int64_t length(int rank) const {
        if (counts == nullptr || displacements == nullptr) return invalid_length;
        return length_of(address, counts[rank], type);
    }
    auto lengths() const {
        return std::views::iota(0, ranks) |
               std::views::transform([this](int rank) { return length(rank); });
    }
    std::size_t bytes() const {
        std::int64_t sum = 0;
        for (const std::int64_t length : lengths()) sum += length;
        return static_cast<std::size_t>(sum);
    }

    /// Returns the memory of all blocks if they lie side by side.
    std::optional<std::span<std::byte>> memory() const {
        const NamedType* const named = named_type(type);
        if (named == nullptr || !named->is_dense) return std::nullopt;
        std::int64_t first = 0, elements = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            if (counts[rank] == 0) continue;
            if (elements == 0) first = displacements[rank];
            if (displacements[rank] != first + elements) return std::nullopt;
            elements += counts[rank];
        }
        auto* const begin = static_cast<std::byte*>(const_cast<void*>(address));
        return std::span(begin + first * named->size, as_size(elements * named->size));
    }

    /// Returns the first block if all blocks have the same length, lie side by side and are not
    /// empty; else null.
    void* equal_blocks() const {
        const NamedType* const named = named_type(type);
        if (address == nullptr || counts == nullptr || displacements == nullptr ||
            named == nullptr || !named->is_dense || counts[0] <= 0)
            return nullptr;
        const std::int64_t first = displacements[0], count = counts[0];
        for (int rank = 1; rank < ranks; ++rank)
            if (counts[rank] != count || displacements[rank] != first + rank * count)
                return nullptr;
        return static_cast<std::byte*>(const_cast<void*>(address)) + first * named->size;
    }

    /// Returns the memory that a call writes: that of the blocks if they lie side by side, else
    /// scratch memory. finish() unpacks scratch memory into the blocks.
    std::span<std::byte> place_for(Ranks& caller) const {
        const auto own = memory();
        return own ? *own : caller.scratch(Ranks::Scratch::output, bytes());
    }
    void finish(std::span<const std::byte> place, MPI_Comm comm) const {
        if (memory()) return;
        for (int rank = 0; rank < ranks; ++rank) {
            const TypedBuffer to = block(rank).value();
            unpack(place.first(to.bytes), to, comm);
            place = place.subspan(to.bytes);
        }
    }

    /// Returns the blocks side by side, copied unless they lie so and do not overlap with the
    /// output.
    std::span<const std::byte> packed(Ranks& caller, std::span<const std::byte> output) const {
        if (const auto own = memory())
            return packed_apart_from(
                output, caller,
                {own->data(), static_cast<std::int64_t>(own->size()), MPI_BYTE, own->size(), true});
        const std::span<std::byte> copy = caller.scratch(Ranks::Scratch::input, bytes());
        std::span<std::byte> rest = copy;
        for (int rank = 0; rank < ranks; ++rank) {
            const TypedBuffer from = block(rank).value();
            pack(from, rest.first(from.bytes), caller.comm());
            rest = rest.subspan(from.bytes);
        }
        return copy;
    }
};

/// Like block_of(), after the ranks have agreed to do the call. Throws Error for arguments that MPI
/// does not accept.
TypedBuffer known_block(const void* address, std::int64_t count, MPI_Datatype type);

}  // namespace tutti
