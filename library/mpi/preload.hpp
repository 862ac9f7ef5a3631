// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "library/mpi/ranks.hpp"

namespace tutti {

/// Reads the environment once MPI has started, and says in one line why calls are not taken over,
/// if that is not as asked.
void mpi_has_started();
/// Reports, and ends what tutti has of MPI, before MPI ends.
void mpi_is_about_to_end();

/// MPI_Init or MPI_Init_thread. Between their two names there may be a tool, so both may come here.
template <class Next, class... Arguments>
int start_mpi(const Next& next, Arguments... arguments) {
    if (Inside::is()) return next(arguments...);
    const Inside inside;
    const int code = next(arguments...);
    if (code == MPI_SUCCESS) mpi_has_started();
    return code;
}

template <class Next>
int end_mpi(const Next& next) {
    if (Inside::is()) return next();
    const Inside inside;
    mpi_is_about_to_end();
    return next();
}

}  // namespace tutti
