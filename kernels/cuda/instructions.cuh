// SPDX-License-Identifier: Apache-2.0
// Hardware instructions for the passes. Loads and stores are written in PTX, so that each is
// exactly that instruction, and the loads of several packets stay ahead of the first store. Never
// uses ld.global.nc, whose cache does not see stores of other blocks and devices. Tests on the host
// use tests/simulated_gpu/emulated_instructions.hpp instead.
#pragma once
#ifdef __CUDACC__
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/partition.hpp"

namespace tutti::device {

/// Loads the packet at `from`, a multiple of 16, if `wanted`; else returns any bits. There is no
/// branch around the load, so that many can be in flight.
template <Access access>
__device__ inline Packet load_packet(const std::byte* from, bool wanted = true) {
    Packet packet;
    const auto address = __cvta_generic_to_global(from);
    if constexpr (access == Access::streamed)
        asm volatile(
            "{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.cs.v2.u64 {%0, %1}, [%2]; }"
            : "=l"(packet.unit[0]), "=l"(packet.unit[1])
            : "l"(address), "r"(static_cast<int>(wanted))
            : "memory");
    else
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.v2.u64 {%0, %1}, [%2]; }"
                     : "=l"(packet.unit[0]), "=l"(packet.unit[1])
                     : "l"(address), "r"(static_cast<int>(wanted))
                     : "memory");
    return packet;
}

/// Stores a packet; `to` is a multiple of 16.
template <Access access>
__device__ inline void store_packet(std::byte* to, Packet packet) {
    const auto address = __cvta_generic_to_global(to);
    if constexpr (access == Access::streamed)
        asm volatile("st.global.cs.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(packet.unit[0]),
                     "l"(packet.unit[1])
                     : "memory");
    else
        asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(packet.unit[0]),
                     "l"(packet.unit[1])
                     : "memory");
}

/// Loads 1, 2, 4 or 8 bytes at a multiple of that size.
template <int bytes>
__device__ inline std::uint64_t load_piece(const std::byte* from) {
    const auto address = __cvta_generic_to_global(from);
    std::uint64_t piece;
    if constexpr (bytes == 1)
        asm volatile("ld.global.u8 %0, [%1];" : "=l"(piece) : "l"(address) : "memory");
    if constexpr (bytes == 2)
        asm volatile("ld.global.u16 %0, [%1];" : "=l"(piece) : "l"(address) : "memory");
    if constexpr (bytes == 4)
        asm volatile("ld.global.u32 %0, [%1];" : "=l"(piece) : "l"(address) : "memory");
    if constexpr (bytes == 8)
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(piece) : "l"(address) : "memory");
    return piece;
}

template <int bytes>
__device__ inline void store_piece(std::byte* to, std::uint64_t piece) {
    const auto address = __cvta_generic_to_global(to);
    if constexpr (bytes == 1)
        asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "l"(piece) : "memory");
    if constexpr (bytes == 2)
        asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "l"(piece) : "memory");
    if constexpr (bytes == 4)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "l"(piece) : "memory");
    if constexpr (bytes == 8)
        asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(piece) : "memory");
}

__device__ inline float float_of_bits(std::uint32_t bits) { return __uint_as_float(bits); }
__device__ inline std::uint32_t bits_of(float number) { return __float_as_uint(number); }
__device__ inline double double_of_bits(std::uint64_t bits) {
    return __longlong_as_double(static_cast<long long>(bits));
}
__device__ inline std::uint64_t bits_of(double number) {
    return static_cast<std::uint64_t>(__double_as_longlong(number));
}
__device__ inline float rounded_quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline double rounded_quotient(double a, double b) { return __ddiv_rn(a, b); }

__device__ inline float float_of_half(std::uint16_t half) {
    float number;
    asm("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(half));
    return number;
}

/// Rounds two floats to nearest even, `low` in the low bits.
__device__ inline std::uint32_t halves_of(float low, float high) {
    std::uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ inline std::uint32_t bfloat16s_of(float low, float high) {
    std::uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

}  // namespace tutti::device
#endif
