// SPDX-License-Identifier: Apache-2.0
#include "library/mpi/types.hpp"

#include "collectives/transport/messages/mpi_library.hpp"

namespace tutti {

NamedTypes named_types;

namespace {

enum class Sums { nothing, integers, unsigned_integers, floats, complex_numbers };

std::optional<DataType> element_of(Sums sums, int size) {
    switch (sums) {
        case Sums::nothing:
            return std::nullopt;
        case Sums::floats:
            if (size == 4) return DataType::float32;
            if (size == 8) return DataType::float64;
            return std::nullopt;
        case Sums::complex_numbers:
            return element_of(Sums::floats, size / 2);
        case Sums::integers:
        case Sums::unsigned_integers:
            break;
    }
    const bool is_signed = sums == Sums::integers;
    switch (size) {
        case 1:
            return is_signed ? DataType::int8 : DataType::uint8;
        case 2:
            return is_signed ? DataType::int16 : DataType::uint16;
        case 4:
            return is_signed ? DataType::int32 : DataType::uint32;
        case 8:
            return is_signed ? DataType::int64 : DataType::uint64;
        default:
            return std::nullopt;
    }
}

// Several names may have the same handle. Types are missing without a compiler of their language.
void know(MPI_Datatype handle, Sums sums) {
    if (handle == MPI_DATATYPE_NULL || named_type(handle) != nullptr) return;
    int size = 0;
    MPI_Aint begin = 0, extent = 0;
    if (PMPI_Type_size(handle, &size) != MPI_SUCCESS || size <= 0 ||
        PMPI_Type_get_extent(handle, &begin, &extent) != MPI_SUCCESS)
        return;
    named_types.rows[named_types.place_of(handle)] = {
        handle,
        {size, begin == 0 && extent == size, element_of(sums, size),
         sums == Sums::complex_numbers}};
}

// The standard does not allow reductions of MPI_CHAR, but the OSU benchmarks 7 use them by default,
// and Open MPI and MPICH do them. MPI_Reduce_local has no communicator: MPI 3 raises its errors on
// MPI_COMM_WORLD, MPI 4 on MPI_COMM_SELF.
Sums sums_of_char() {
    const ErrorsReturn in_world(MPI_COMM_WORLD), in_self(MPI_COMM_SELF);
    const unsigned char high = 0x80;  // negative if it has a sign
    unsigned char larger = 1;
    if (PMPI_Reduce_local(&high, &larger, 1, MPI_CHAR, MPI_MAX) != MPI_SUCCESS)
        return Sums::nothing;
    return larger == high ? Sums::unsigned_integers : Sums::integers;
}

}  // namespace

void know_mpi_types() {
    named_types.rows.fill({});
    for (MPI_Datatype type :
         {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
          MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER, MPI_INTEGER1,
          MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
        know(type, Sums::integers);
    for (MPI_Datatype type :
         {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
          MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
        know(type, Sums::unsigned_integers);
    for (MPI_Datatype type :
         {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
        know(type, Sums::floats);
    for (MPI_Datatype type :
         {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX})
        know(type, Sums::complex_numbers);
    know(MPI_CHAR, sums_of_char());
    for (MPI_Datatype type :
         {MPI_BYTE, MPI_PACKED, MPI_WCHAR, MPI_C_BOOL, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX,
          MPI_LOGICAL, MPI_CHARACTER, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT,
          MPI_SHORT_INT, MPI_LONG_DOUBLE_INT})
        know(type, Sums::nothing);
}

}  // namespace tutti
