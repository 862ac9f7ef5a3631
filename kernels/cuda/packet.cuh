// SPDX-License-Identifier: Apache-2.0
// Loads and stores of global memory, 16 bytes at a time where the address allows it. Each is written
// in PTX: so it is exactly that instruction, and the loads of several packets stay ahead of the
// first store. Never ld.global.nc, whose cache does not see what other blocks and devices store.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/partition.hpp"

namespace tutti::device {

/// `shared`: by ordinary loads and stores, right for memory that other blocks or devices write.
/// `streamed`: evicted first, for what nobody looks at again soon.
enum class Access { shared, streamed };

/// 16 bytes as two units of 8, the first in memory first and in the low bits.
struct Packet {
    static constexpr int units = 2;
    std::uint64_t unit[units];
};

/// What lies at `from`, a multiple of 16, if `wanted`; else any bits. There is no branch around the
/// load, so that many can be under way.
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

/// `to` is a multiple of 16.
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

/// A piece of 1, 2, 4 or 8 bytes at a multiple of its size.
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

__device__ inline std::uint64_t address_of(const std::byte* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

/// Up to 8 bytes in pieces of `piece`, whose multiple the address is.
template <int piece, int bytes>
__device__ inline std::uint64_t load_pieces(const std::byte* from) {
    std::uint64_t all = 0;
#pragma unroll
    for (int at = 0; at < bytes; at += piece) all |= load_piece<piece>(from + at) << (8 * at);
    return all;
}

template <int piece, int bytes>
__device__ inline void store_pieces(std::byte* to, std::uint64_t all) {
#pragma unroll
    for (int at = 0; at < bytes; at += piece) store_piece<piece>(to + at, all >> (8 * at));
}

/// One element at any address, in the low bits.
template <int bytes>
__device__ inline std::uint64_t load_element(const std::byte* from) {
    return address_of(from) % bytes == 0 ? load_piece<bytes>(from) : load_pieces<1, bytes>(from);
}

template <int bytes>
__device__ inline void store_element(std::byte* to, std::uint64_t element) {
    if (address_of(to) % bytes == 0)
        store_piece<bytes>(to, element);
    else
        store_pieces<1, bytes>(to, element);
}

/// 16 bytes at any address. All threads of a warp take the same way, as they are packets apart; the
/// pieces that they load between them fill whole sectors, and find them in the first-level cache.
__device__ inline Packet gather_packet(const std::byte* from) {
    Packet packet;
    const std::uint64_t skew = address_of(from) % packet_bytes;
    if (skew == 0) return load_packet<Access::shared>(from);
#pragma unroll
    for (int u = 0; u < Packet::units; ++u) {
        const std::byte* unit = from + 8 * u;
        packet.unit[u] = skew % 4 == 0   ? load_pieces<4, 8>(unit)
                         : skew % 2 == 0 ? load_pieces<2, 8>(unit)
                                         : load_pieces<1, 8>(unit);
    }
    return packet;
}

__device__ inline void scatter_packet(std::byte* to, Packet packet) {
    const std::uint64_t skew = address_of(to) % packet_bytes;
    if (skew == 0) return store_packet<Access::shared>(to, packet);
#pragma unroll
    for (int u = 0; u < Packet::units; ++u) {
        std::byte* unit = to + 8 * u;
        if (skew % 4 == 0)
            store_pieces<4, 8>(unit, packet.unit[u]);
        else if (skew % 2 == 0)
            store_pieces<2, 8>(unit, packet.unit[u]);
        else
            store_pieces<1, 8>(unit, packet.unit[u]);
    }
}

}  // namespace tutti::device
