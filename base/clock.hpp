// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace tutti {

/// Nanoseconds of CLOCK_MONOTONIC: the same clock for all processes of one host.
std::int64_t now_ns();

inline double seconds_since(std::int64_t began_ns) {
    return static_cast<double>(now_ns() - began_ns) * 1e-9;
}

/// A limit in nanoseconds: of one that is further off than they can count, or infinite, the last
/// one that they can, in 292 years.
inline std::int64_t limit_in_ns(double seconds) {
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    const double ns = seconds * 1e9;
    return ns < static_cast<double>(last) ? static_cast<std::int64_t>(ns) : last;
}

/// A deadline's clock: the time for which this process could run. Of a longer pause between two
/// looks it counts a second, as then the process, or the whole machine, was suspended: so ranks
/// that were all suspended and go on do not give each other up.
class AwakeTime {
public:
    /// Nanoseconds since the first look. Look well within a second.
    std::int64_t look() {
        const std::int64_t now = now_ns();
        if (last_look_ns_ != 0) awake_ns_ += std::min(now - last_look_ns_, longest_gap_ns);
        last_look_ns_ = now;
        return awake_ns_;
    }

    double look_seconds() { return static_cast<double>(look()) * 1e-9; }

private:
    static constexpr std::int64_t longest_gap_ns = 1'000'000'000;

    std::int64_t last_look_ns_ = 0;
    std::int64_t awake_ns_ = 0;
};

/// Tells the core that this is a waiting loop (a few tens of cycles; yields to the sibling thread).
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace tutti
