// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <source_location>

namespace tutti {

/// Throws Error (a rank or its connection is lost) with MPI's text and the calling line unless
/// `code` is MPI_SUCCESS.
void check(int code, std::source_location where = std::source_location::current());

}  // namespace tutti
