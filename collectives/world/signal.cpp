// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <climits>

namespace tutti {
namespace {

// The kernel compares 32 bits: the half that changes with every step.
std::uint32_t* low_half(std::uint64_t& word) {
    return reinterpret_cast<std::uint32_t*>(&word) + (std::endian::native == std::endian::big);
}

}  // namespace

void sleep_while(std::uint64_t& word, std::uint64_t expected, std::int64_t nanoseconds) {
    const timespec limit{.tv_sec = nanoseconds / 1'000'000'000,
                         .tv_nsec = nanoseconds % 1'000'000'000};
    syscall(SYS_futex, low_half(word), FUTEX_WAIT, static_cast<std::uint32_t>(expected), &limit,
            nullptr, 0);
}

void sleep_below(std::uint64_t& counter, std::uint64_t least, std::uint64_t& sleepers,
                 std::int64_t nanoseconds) {
    const std::atomic_ref counted(sleepers);
    counted.fetch_add(1);
    const std::uint64_t now = seen(counter);
    if (now < least) sleep_while(counter, now, nanoseconds);
    counted.fetch_sub(1);
}

void wake_sleepers(std::uint64_t& word) {
    syscall(SYS_futex, low_half(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tutti
