// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "library/mpi/ranks.hpp"

namespace tutti {

/// Makes the baseline `mpi` call the MPI library directly, because MPI_X would resolve to this
/// library.
void use_library_functions();

/// Reads the environment once MPI has started, and says in one line why calls are not taken over,
/// if that is not as asked.
void mpi_has_started();
/// Reports, and ends what tutti has of MPI, before MPI ends.
void mpi_is_about_to_end();

/// MPI_Init or MPI_Init_thread.
template <class Next, class... Arguments>
int start_mpi(const Next& next, Arguments... arguments) {
    const int code = next(arguments...);
    if (code == MPI_SUCCESS) mpi_has_started();
    return code;
}

template <class Next>
int end_mpi(const Next& next) {
    mpi_is_about_to_end();
    return next();
}

/// MPI_Comm_free or MPI_Comm_disconnect.
template <class Next>
int free_communicator(const Next& next, MPI_Comm* comm) {
    const FreedCommunicator freed(comm == nullptr ? MPI_COMM_NULL : *comm);
    return next(comm);
}

}  // namespace tutti
