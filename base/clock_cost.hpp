// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/clock.hpp"

namespace tutti {

/// Returns the mean time of one read of the clock, by reading it so often.
inline double clock_read_ns(int reads) {
    const std::int64_t began = now_ns();
    for (int i = 1; i < reads; ++i) now_ns();
    return ns_since(began) / reads;
}

}  // namespace tutti
