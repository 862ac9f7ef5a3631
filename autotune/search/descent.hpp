// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "autotune/search/search_state.hpp"

namespace tutti {

/// From the best known member of a family to a better one: one parameter after the other moves
/// while that helps, at first by `stride` levels, then by half of that. Right where times have one
/// valley along each scale, as they have for segments, channels and radix (AutoCCL, NSDI 2025); far
/// strides first, as members whose segments exceed the message are all alike.
void descend(SearchState& course, std::size_t family, std::size_t size, int stride);

}  // namespace tutti
