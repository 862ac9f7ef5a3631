// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/mpi_check.hpp"

#include <mpi.h>

#include <string>

#include "base/error.hpp"

namespace tutti {

void check(int code, std::source_location where) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw Error("MPI failed in " + std::string(where.function_name()) + ": " + text,
                Exit::rank_lost);
}

}  // namespace tutti
