// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <source_location>

namespace tutti {

/// Throws Error (the rank's GPU is lost) with CUDA's text and the calling line unless `code` is
/// cudaSuccess.
void check_cuda(int code, std::source_location where = std::source_location::current());

}  // namespace tutti
