// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <cstdint>
#include <optional>

#include "base/types.hpp"

namespace tutti {

/// What is known of one of MPI's own datatypes.
struct NamedType {
    std::int64_t size = 0;
    bool is_dense = false;            ///< elements in a row have no gaps between or within them
    std::optional<DataType> element;  ///< what tutti can combine it as
    bool is_complex = false;          ///< two of them, which are summed by themselves
};

/// Asks the library about its types, once it runs. To be called before the functions below.
void know_mpi_types();

/// Null for types that the program has made.
const NamedType* named_type(MPI_Datatype type);

/// Nothing for operations that tutti does not have, and for those of the program.
std::optional<Op> op_of(MPI_Op op);

}  // namespace tutti
