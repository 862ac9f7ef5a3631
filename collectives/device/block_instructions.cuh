// SPDX-License-Identifier: Apache-2.0
// Synchronisation of a plan's blocks. Peers may be on other devices, and the host reads the words,
// too: so all operations have system scope.
#pragma once
#ifndef __CUDACC__
#include "collectives/device/emulated_block.hpp"
#else
#include <cstdint>
#include <cuda/atomic>

#include "collectives/device/device_program.hpp"

namespace tutti::device {

__device__ inline auto system_atomic(const std::uint64_t& word) {
    return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(
        const_cast<std::uint64_t&>(word));
}

__device__ inline std::uint64_t load_acquire(const std::uint64_t& word) {
    return system_atomic(word).load(cuda::memory_order_acquire);
}
__device__ inline std::uint64_t load_relaxed(const std::uint64_t& word) {
    return system_atomic(word).load(cuda::memory_order_relaxed);
}
__device__ inline void store_release(std::uint64_t& word, std::uint64_t value) {
    system_atomic(word).store(value, cuda::memory_order_release);
}
__device__ inline void store_relaxed(std::uint64_t& word, std::uint64_t value) {
    system_atomic(word).store(value, cuda::memory_order_relaxed);
}
/// Returns the new value; releases and acquires.
__device__ inline std::uint64_t add_one(std::uint64_t& word) {
    return system_atomic(word).fetch_add(1, cuda::memory_order_acq_rel) + 1;
}

/// Stores 16 bytes in one access, so that no reader sees a part.
__device__ inline void store_line(DeviceLine& line, DeviceLine value) {
    asm volatile(
        "{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.global.b128 [%0], both; }"
        :
        : "l"(__cvta_generic_to_global(&line)), "l"(value.data), "l"(value.run)
        : "memory");
}
__device__ inline DeviceLine load_line(const DeviceLine& line) {
    DeviceLine value;
    asm volatile(
        "{ .reg .b128 both; ld.relaxed.sys.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
        : "=l"(value.data), "=l"(value.run)
        : "l"(__cvta_generic_to_global(&line))
        : "memory");
    return value;
}

/// Returns the time of a clock that all of the device shares.
__device__ inline std::uint64_t now_ns() {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/// Called between two polls of a counter. A load from memory takes long enough.
__device__ inline void pause() {}

}  // namespace tutti::device
#endif
