// SPDX-License-Identifier: Apache-2.0
// Replacements for block_instructions.cuh with which the host's compiler can build the plan
// kernels.
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "collectives/device/device_program.hpp"

namespace tutti::device {

inline auto system_atomic(const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word));
}

inline std::uint64_t load_acquire(const std::uint64_t& word) {
    return system_atomic(word).load(std::memory_order_acquire);
}
inline std::uint64_t load_relaxed(const std::uint64_t& word) {
    return system_atomic(word).load(std::memory_order_relaxed);
}
inline void store_release(std::uint64_t& word, std::uint64_t value) {
    system_atomic(word).store(value, std::memory_order_release);
}
inline void store_relaxed(std::uint64_t& word, std::uint64_t value) {
    system_atomic(word).store(value, std::memory_order_relaxed);
}
inline std::uint64_t add_one(std::uint64_t& word) {
    return system_atomic(word).fetch_add(1, std::memory_order_acq_rel) + 1;
}

// Stores the flag last, because the host has no store of 16 bytes.
inline void store_line(DeviceLine& line, DeviceLine value) {
    store_relaxed(line.data, value.data);
    store_release(line.run, value.run);
}
inline DeviceLine load_line(const DeviceLine& line) {
    const std::uint64_t run = load_acquire(line.run);
    return {load_relaxed(line.data), run};
}

inline std::uint64_t now_ns() { return static_cast<std::uint64_t>(tutti::now_ns()); }

/// Yields, because there are fewer cores than blocks.
inline void pause() { sched_yield(); }

}  // namespace tutti::device
