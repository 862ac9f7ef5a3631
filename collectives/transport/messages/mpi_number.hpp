// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

namespace tutti {

// A communicator as an int, for headers without mpi.h: its Fortran handle, or MPI_Comm_toint in a
// build for MPI's standard ABI, which need not have Fortran handles.
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
constexpr bool is_for_standard_abi = true;
inline int number_of(MPI_Comm comm) { return MPI_Comm_toint(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_fromint(number); }
#else
constexpr bool is_for_standard_abi = false;
inline int number_of(MPI_Comm comm) { return MPI_Comm_c2f(comm); }
inline MPI_Comm communicator_of(int number) { return MPI_Comm_f2c(number); }
#endif

}  // namespace tutti
