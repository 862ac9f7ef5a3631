// SPDX-License-Identifier: Apache-2.0
#include "collectives/baselines/mpi_types.hpp"

#include <mpi.h>

namespace tutti {
namespace {

MPI_Datatype type_of(DataType type) {
    switch (type) {
        case DataType::int8:
            return MPI_INT8_T;
        case DataType::int16:
            return MPI_INT16_T;
        case DataType::int32:
            return MPI_INT32_T;
        case DataType::int64:
            return MPI_INT64_T;
        case DataType::uint8:
            return MPI_UINT8_T;
        case DataType::uint16:
            return MPI_UINT16_T;
        case DataType::uint32:
            return MPI_UINT32_T;
        case DataType::uint64:
            return MPI_UINT64_T;
        case DataType::float32:
            return MPI_FLOAT;
        case DataType::float64:
            return MPI_DOUBLE;
        default:
            return MPI_DATATYPE_NULL;
    }
}

MPI_Op op_of(Op op) {
    switch (op) {
        case Op::prod:
            return MPI_PROD;
        case Op::min:
            return MPI_MIN;
        case Op::max:
            return MPI_MAX;
        default:
            return MPI_SUM;
    }
}

}  // namespace

int mpi_type(DataType type) { return MPI_Type_c2f(type_of(type)); }

int mpi_type_to_move(DataType type) {
    const MPI_Datatype known = type_of(type);
    if (known != MPI_DATATYPE_NULL) return MPI_Type_c2f(known);
    return MPI_Type_c2f(size_of(type) == 1 ? MPI_UINT8_T : MPI_UINT16_T);
}

int mpi_op(Op op) { return MPI_Op_c2f(op_of(op)); }

}  // namespace tutti
