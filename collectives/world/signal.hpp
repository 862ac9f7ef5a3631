// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/short_copy.hpp"

namespace tutti {

/// Data written by two ranks must not share a line, or each write costs the other rank a miss.
inline constexpr std::size_t cache_line = 64;

/// The memory orders of a signal from one rank to another, and the only ordering in shared memory:
/// a rank that sees the flag also sees all that was written before it (release, acquire), and may
/// overwrite what the publisher has read before. On x86 both are plain moves that the compiler does
/// not reorder. A template parameter only so that a test can weaken each order and find the race.
struct InOrder {
    static constexpr std::memory_order publishing = std::memory_order_release;
    static constexpr std::memory_order seeing = std::memory_order_acquire;
};

template <class Orders = InOrder>
void publish(std::uint64_t& flag, std::uint64_t value) {
    std::atomic_ref(flag).store(value, Orders::publishing);
}

template <class Orders = InOrder>
std::uint64_t seen(std::uint64_t& flag) {
    return std::atomic_ref(flag).load(Orders::seeing);
}

/// Prefetches the line that this rank will write next, at a time when no rank waits for it: a store
/// to a line that a peer has read would first have to fetch it back, which takes as long as the
/// signal itself.
inline void prefetch_to_write(const void* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0"
                 :
                 : "m"(*static_cast<const char*>(line)));  // GCC's builtin needs -mprfchw
#else
    __builtin_prefetch(line, 1);
#endif
}

/// Data in the cache line of the flag that announces it: one miss brings both.
struct alignas(cache_line) LlLine {
    static constexpr std::size_t capacity = cache_line - sizeof(std::uint64_t);

    std::byte data[capacity];
    std::uint64_t flag;

    template <class Orders = InOrder>
    void write(const std::byte* from, std::size_t bytes, std::uint64_t number) {
        if (bytes >= capacity)
            std::memcpy(data, from, capacity);
        else
            copy_short(data, from, bytes);
        publish<Orders>(flag, number);
    }

    /// Whether line `number` has arrived; if so, copies its first `bytes`.
    template <class Orders = InOrder>
    bool read(std::byte* into, std::size_t bytes, std::uint64_t number) {
        if (seen<Orders>(flag) != number) return false;
        if (bytes >= capacity)
            std::memcpy(into, data, capacity);
        else
            copy_short(into, data, bytes);
        return true;
    }
};
static_assert(sizeof(LlLine) == cache_line);

/// Sleeps until `word` differs from `expected` and wake_sleepers is called, or for about
/// `nanoseconds`. May return early. `word` may lie in memory that processes share.
void sleep_while(std::uint64_t& word, std::uint64_t expected, std::int64_t nanoseconds);

/// Sleeps until `counter` reaches `least` and wake_sleepers is called, or for about `nanoseconds`.
/// May return early. Meanwhile `sleepers` counts this thread, so that the counter's owner makes the
/// system call to wake others only if there are any. Both may lie in memory that processes share.
void sleep_below(std::uint64_t& counter, std::uint64_t least, std::uint64_t& sleepers,
                 std::int64_t nanoseconds);

/// Wakes all threads that sleep on `word`, in all processes. Costs a system call.
void wake_sleepers(std::uint64_t& word);

}  // namespace tutti
