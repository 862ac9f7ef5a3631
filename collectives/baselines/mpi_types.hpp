// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/types.hpp"

namespace tutti {

/// The Fortran handle of MPI's type; that of MPI_DATATYPE_NULL for the types that MPI lacks.
int mpi_type(DataType type);

/// The same of a type whose elements are moved and not combined: there MPI needs to know but their
/// size.
int mpi_type_to_move(DataType type);

/// The Fortran handle of MPI's operation. The sum stands for the mean, which MPI lacks.
int mpi_op(Op op);

}  // namespace tutti
