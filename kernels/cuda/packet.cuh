// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 16 bytes of global memory at any address, and of single elements.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/instructions.cuh"
#include "kernels/cuda/partition.hpp"

namespace tutti::device {

__device__ inline std::uint64_t address_of(const std::byte* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

/// Loads up to 8 bytes in pieces of `piece` bytes, to which the address is aligned.
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

/// Loads one element at any address, into the low bits.
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

/// Loads 16 bytes at any address. All threads of a warp take the same branch, because they are
/// whole packets apart; the pieces that they load together fill whole sectors, and hit the
/// first-level cache.
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
