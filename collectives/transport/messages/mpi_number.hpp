// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

namespace tutti {

// A communicator's handle as a number, which headers without mpi.h can pass on: Fortran's, or where
// MPI's standard ABI takes the place of the library's own, which has no Fortran, the ABI's.
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
inline int number_of(MPI_Comm comm) { return MPI_Comm_toint(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_fromint(number); }
#else
inline int number_of(MPI_Comm comm) { return MPI_Comm_c2f(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_f2c(number); }
#endif

}  // namespace tutti
