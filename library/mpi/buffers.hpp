// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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

    /// Returns nullopt if the MPI library must do the call: it is empty, too large or invalid.
    static std::optional<TypedBuffer> of(const void* address, std::int64_t count,
                                         MPI_Datatype type);

    std::span<std::byte> memory() const { return {static_cast<std::byte*>(address), bytes}; }
    /// Returns `of_count` elements from element `first` on.
    TypedBuffer part(std::int64_t first, std::int64_t of_count) const;
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

/// Returns the size of the block in bytes; INT64_MAX if the MPI library must check the arguments.
inline std::int64_t bytes_or_most(const void* address, std::int64_t count, MPI_Datatype type) {
    const auto block = block_of(address, count, type);
    return block ? static_cast<std::int64_t>(block->bytes)
                 : std::numeric_limits<std::int64_t>::max();
}

/// The blocks of all ranks as in MPI_Gatherv and similar calls, with counts and displacements in
/// elements. A slot is the place of one block in an array of slots of equal size.
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

    BlockSizes sizes() const {
        if (counts == nullptr || displacements == nullptr) return BlockSizes::for_the_library();
        BlockSizes sizes;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto one = block_of(address, counts[rank], type);
            if (!one) return BlockSizes::for_the_library();
            sizes.add(static_cast<std::int64_t>(one->bytes));
        }
        return sizes;
    }

    /// Returns whether the blocks already lie in slots of this size.
    bool lies_in(std::size_t slot) const {
        const NamedType* const named = named_type(type);
        if (named == nullptr || !named->is_dense) return false;
        for (int rank = 0; rank < ranks; ++rank)
            if (static_cast<std::size_t>(counts[rank] * named->size) != slot ||
                displacements[rank] != std::int64_t{counts[0]} * rank)
                return false;
        return true;
    }

    /// Returns the memory of the slots: that of the blocks if they lie in slots, else scratch
    /// memory. finish() unpacks scratch memory into the blocks.
    std::span<std::byte> place_for(Ranks& caller, std::size_t slot) const {
        const std::size_t bytes = slot * as_size(ranks);
        if (!lies_in(slot)) return caller.scratch(Ranks::Scratch::output, bytes);
        return {static_cast<std::byte*>(const_cast<void*>(address)), bytes};
    }
    void finish(std::span<const std::byte> place, std::size_t slot, MPI_Comm comm) const {
        if (place.data() == address) return;
        for (int rank = 0; rank < ranks; ++rank) {
            const TypedBuffer to = block(rank).value();
            unpack(place.subspan(slot * as_size(rank), to.bytes), to, comm);
        }
    }

    /// Returns the blocks in slots, copied unless they lie in slots and do not overlap with the
    /// output.
    std::span<const std::byte> in_slots(Ranks& caller, std::size_t slot,
                                        std::span<const std::byte> output) const {
        const std::size_t bytes = slot * as_size(ranks);
        if (lies_in(slot))
            return packed_apart_from(output, caller,
                                     {const_cast<void*>(address), static_cast<std::int64_t>(bytes),
                                      MPI_BYTE, bytes, true});
        const std::span<std::byte> copy = caller.scratch(Ranks::Scratch::input, bytes);
        for (int rank = 0; rank < ranks; ++rank) {
            const TypedBuffer from = block(rank).value();
            pack(from, copy.subspan(slot * as_size(rank), from.bytes), caller.comm());
        }
        return copy;
    }
};

/// Like block_of(), after the ranks have agreed to do the call. Throws Error for arguments that MPI
/// does not accept.
TypedBuffer known_block(const void* address, std::int64_t count, MPI_Datatype type);

/// Throws Error if the block is larger than those that the root knows.
void must_fit(const TypedBuffer& block, std::size_t slot);

/// Returns one block in a slot, copied unless it has the slot's size and does not overlap with the
/// output.
std::span<const std::byte> in_slot(Ranks& ranks, const TypedBuffer& block, std::size_t slot,
                                   std::span<const std::byte> output);

}  // namespace tutti
