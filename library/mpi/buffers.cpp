// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/buffers.hpp"

#include <algorithm>

#include "collectives/transport/messages/mpi_library.hpp"
#include "kernels/copy.hpp"

namespace tutti {
namespace {

int as_int(std::size_t count) { return static_cast<int>(count); }  // below most_bytes

// Converts elements at absolute addresses (MPI_BOTTOM) to addresses relative to this object,
// because MPICH cannot pack from MPI_BOTTOM.
class Located {
public:
    explicit Located(const TypedBuffer& buffer)
        : address_(buffer.address), count_(static_cast<int>(buffer.count)), type_(buffer.type) {
        if (address_ != nullptr) return;
        MPI_Aint here = 0;
        check(PMPI_Get_address(this, &here));
        here = -here;
        check(PMPI_Type_create_hindexed(1, &count_, &here, buffer.type, &own_));
        check(PMPI_Type_commit(&own_));
        address_ = this;
        count_ = 1;
        type_ = own_;
    }
    ~Located() {
        if (own_ != MPI_DATATYPE_NULL) PMPI_Type_free(&own_);
    }
    Located(const Located&) = delete;
    Located& operator=(const Located&) = delete;

    void* address() const { return address_; }
    int count() const { return count_; }
    MPI_Datatype type() const { return type_; }

private:
    void* address_;
    int count_;
    MPI_Datatype type_;
    MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

}  // namespace

std::int64_t TypedBuffer::size_of_created(MPI_Datatype type) {
    int size = 0;
    return PMPI_Type_size(type, &size) == MPI_SUCCESS ? size : 0;
}

// Builds the part in place. Changing a copy would stall on store forwarding (see CodeIfDone).
TypedBuffer TypedBuffer::part(std::int64_t first, std::int64_t of_count) const {
    MPI_Aint begin = 0, extent = static_cast<MPI_Aint>(bytes_of_element);
    if (first != 0 && !is_dense) check(PMPI_Type_get_extent(type, &begin, &extent));
    auto* const at = first == 0 ? address : static_cast<std::byte*>(address) + first * extent;
    return {at, of_count, type, bytes_of_element * as_size(of_count), is_dense, bytes_of_element};
}

std::span<const std::byte> packed(Ranks& ranks, const TypedBuffer& buffer) {
    return buffer.is_dense ? buffer.memory() : copied(ranks, buffer);
}

std::span<const std::byte> copied(Ranks& ranks, const TypedBuffer& buffer) {
    const std::span<std::byte> copy = ranks.scratch(Ranks::Scratch::input, buffer.bytes);
    pack(buffer, copy, ranks.comm());
    return copy;
}

std::span<const std::byte> packed_apart_from(std::span<const std::byte> output, Ranks& ranks,
                                             const TypedBuffer& buffer) {
    const bool overlaps = buffer.is_dense && overlap(buffer.memory(), output);
    return overlaps ? copied(ranks, buffer) : packed(ranks, buffer);
}

std::span<std::byte> place_for(Ranks& ranks, const TypedBuffer& buffer) {
    return buffer.is_dense ? buffer.memory() : ranks.scratch(Ranks::Scratch::output, buffer.bytes);
}

void finish(Ranks& ranks, std::span<const std::byte> place, const TypedBuffer& buffer) {
    if (!buffer.is_dense) unpack(place, buffer, ranks.comm());
}

std::optional<TypedBuffer> block_of(const void* address, std::int64_t count, MPI_Datatype type) {
    const auto block = TypedBuffer::of(address, count, type);
    if (block || count < 0 || type == MPI_DATATYPE_NULL) return block;
    int of_type = 0;
    const bool is_empty =
        count == 0 || (PMPI_Type_size(type, &of_type) == MPI_SUCCESS && of_type == 0);
    return is_empty ? std::optional(TypedBuffer{.type = type, .is_dense = true}) : std::nullopt;
}

TypedBuffer known_block(const void* address, std::int64_t count, MPI_Datatype type) {
    const auto block = block_of(address, count, type);
    if (!block) throw Error("invalid count, datatype or buffer");
    return *block;
}

void pack(const TypedBuffer& from, std::span<std::byte> to, MPI_Comm comm) {
    if (from.bytes == 0) return;
    if (from.is_dense) {
        copy_in_blocks(to.data(), static_cast<const std::byte*>(from.address), from.bytes);
        return;
    }
    const Located located(from);
    int position = 0;
    check(PMPI_Pack(located.address(), located.count(), located.type(), to.data(),
                    as_int(to.size()), &position, comm));
}

void unpack(std::span<const std::byte> from, const TypedBuffer& to, MPI_Comm comm) {
    if (to.bytes == 0) return;
    if (to.is_dense) {
        copy_in_blocks(static_cast<std::byte*>(to.address), from.data(), from.size());
        return;
    }
    const Located located(to);
    int position = 0;
    check(PMPI_Unpack(from.data(), as_int(from.size()), &position, located.address(),
                      located.count(), located.type(), comm));
}

}  // namespace tutti
