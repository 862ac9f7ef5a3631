// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/types.hpp"

namespace tutti {

/// Properties of a predefined MPI datatype.
struct NamedType {
    std::int64_t size = 0;
    bool is_dense = false;            ///< no gaps within or between elements
    std::optional<DataType> element;  ///< the type of tutti for reductions
    bool is_complex = false;          ///< two elements, which can only be summed
};

/// Queries the MPI library for its types. Call it after MPI has started, before the functions
/// below.
void know_mpi_types();

/// The named types by handle: a hash table with open addressing, written once at the start. It has
/// more places than there are types.
struct NamedTypes {
    struct Row {
        MPI_Datatype handle = MPI_DATATYPE_NULL;
        NamedType type;
    };
    static constexpr std::size_t places = 512;
    std::array<Row, places> rows;

    /// Returns the place of the type, or the one that is free for it.
    std::size_t place_of(MPI_Datatype handle) const {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &handle, sizeof handle);
        auto place = static_cast<std::size_t>(bits * 0x9E3779B97F4A7C15U >>
                                              (64 - std::bit_width(places - 1)));
        while (rows[place].handle != handle && rows[place].handle != MPI_DATATYPE_NULL)
            place = (place + 1) % places;
        return place;
    }
};
extern NamedTypes named_types;

/// Returns null for types that the program has created.
inline const NamedType* named_type(MPI_Datatype type) {
    const NamedTypes::Row& row = named_types.rows[named_types.place_of(type)];
    return row.handle == MPI_DATATYPE_NULL ? nullptr : &row.type;
}

/// Returns nullopt for operations that tutti does not support, and those of the program.
inline std::optional<Op> op_of(MPI_Op op) {
    if (op == MPI_SUM) return Op::sum;
    if (op == MPI_MAX) return Op::max;
    if (op == MPI_MIN) return Op::min;
    if (op == MPI_PROD) return Op::prod;
    return std::nullopt;
}

/// A reduction as tutti does it.
struct Reduction {
    DataType type;
    Op op;
    std::int64_t elements;  ///< of tutti for each of the program's
};

/// Returns nullopt if tutti does not support the type or the operation.
inline std::optional<Reduction> reduction_of(const NamedType& type, MPI_Op op) {
    const auto our_op = op_of(op);
    if (!our_op || !type.element || (type.is_complex && our_op != Op::sum)) return std::nullopt;
    return Reduction{*type.element, *our_op, type.is_complex ? 2 : 1};
}

}  // namespace tutti
