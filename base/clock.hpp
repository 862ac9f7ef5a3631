// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace tutti {

/// Nanoseconds of CLOCK_MONOTONIC: the same clock for all processes of one host.
std::int64_t now_ns();

inline double seconds_since(std::int64_t began_ns) {
    return static_cast<double>(now_ns() - began_ns) * 1e-9;
}

/// Tells the core that this is a waiting loop (a few tens of cycles; yields to the sibling thread).
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace tutti
