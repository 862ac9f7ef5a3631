// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <limits>
#include <type_traits>

#include "library/mpi/buffers.hpp"
#include "library/mpi/types.hpp"

namespace tutti {

/// Elements of a datatype, which may be none, or have no bytes; nothing where the library is to
/// look at the call.
std::optional<TypedBuffer> block_of(const void* address, std::int64_t count, MPI_Datatype type);

/// Returns the size of the block in bytes; INT64_MAX if the MPI library must check the arguments.
inline std::int64_t bytes_or_most(const void* address, std::int64_t count, MPI_Datatype type) {
    const auto block = block_of(address, count, type);
    return block ? static_cast<std::int64_t>(block->bytes)
                 : std::numeric_limits<std::int64_t>::max();
}

/// The blocks of all ranks as MPI's v-forms describe them: so many elements each, at places that
/// are counted in elements. A slot is the place of one block among equal ones in a row.
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

    /// Whether the blocks lie where slots of so many bytes would.
    bool lies_in(std::size_t slot) const {
        const NamedType* const named = named_type(type);
        if (named == nullptr || !named->is_dense) return false;
        for (int rank = 0; rank < ranks; ++rank)
            if (static_cast<std::size_t>(counts[rank] * named->size) != slot ||
                displacements[rank] != std::int64_t{counts[0]} * rank)
                return false;
        return true;
    }

    /// Memory of the slots: the blocks' own, or scratch memory from which finish() brings them
    /// there.
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

    /// The blocks in slots: where they are, or copied; apart from what the call writes.
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

/// What no other rank can judge, once all are in the call: throws Error where the library would not
/// take the arguments.
TypedBuffer known_block(const void* address, std::int64_t count, MPI_Datatype type);

/// Throws Error if the block is larger than those that the root knows.
void must_fit(const TypedBuffer& block, std::size_t slot);

/// One block in a slot: where it is, or copied; apart from what the call writes.
std::span<const std::byte> in_slot(Ranks& ranks, const TypedBuffer& block, std::size_t slot,
                                   std::span<const std::byte> output);

}  // namespace tutti
