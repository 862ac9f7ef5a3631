// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <source_location>

namespace tutti {

/// Throws Error (a rank or its connection is lost) with MPI's text and the calling line.
[[noreturn]] void throw_mpi_error(int code, std::source_location where);

/// Calls throw_mpi_error unless `code` is MPI_SUCCESS, which the standard defines as 0. In timed
/// loops it costs a comparison.
inline void check(int code, std::source_location where = std::source_location::current()) {
    if (code != 0) throw_mpi_error(code, where);
}

}  // namespace tutti
