// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

namespace tutti {

/// Returns the nanoseconds of CLOCK_MONOTONIC, the same clock in all processes of one host.
inline std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline double ns_since(std::int64_t began_ns) { return static_cast<double>(now_ns() - began_ns); }
inline double seconds_since(std::int64_t began_ns) { return ns_since(began_ns) * 1e-9; }

/// Converts a time limit to nanoseconds. Infinite or too large ones become the maximum (292 years).
inline std::int64_t limit_in_ns(double seconds) {
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    const double ns = seconds * 1e9;
    return ns < static_cast<double>(last) ? static_cast<std::int64_t>(ns) : last;
}

/// The clock of deadlines: counts the time during which this process could run. A gap of more than
/// a second between two calls means that the process or the machine was suspended; it counts as one
/// second. So ranks that were all suspended do not time out when they resume.
class AwakeTime {
public:
    /// Returns nanoseconds since the first call. Has to be called several times a second.
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

/// Pauses the core for a few tens of cycles in a waiting loop; its sibling thread runs meanwhile.
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace tutti
