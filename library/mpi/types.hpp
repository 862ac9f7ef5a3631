// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstdint>
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

/// Returns null for types that the program has created.
const NamedType* named_type(MPI_Datatype type);

/// Returns nullopt for operations that tutti does not support, and those of the program.
std::optional<Op> op_of(MPI_Op op);

}  // namespace tutti
