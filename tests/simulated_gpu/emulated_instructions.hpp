// SPDX-License-Identifier: Apache-2.0
// Replacements for instructions.cuh with which the host's compiler can build the passes, to test
// their
// logic without a GPU. As on a GPU, an access must be aligned to its size.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "base/floats.hpp"
#include "kernels/cuda/partition.hpp"
#include "tests/simulated_gpu/emulated_threads.hpp"

namespace tutti::device {

inline void require_multiple(const std::byte* address, std::uint64_t bytes) {
    if (reinterpret_cast<std::uint64_t>(address) % bytes != 0)
        throw std::logic_error("misaligned access to global memory");
}

template <Access>
Packet load_packet(const std::byte* from, bool wanted = true) {
    Packet packet{{0xdead, 0xdead}};
    if (!wanted) return packet;
    require_multiple(from, sizeof packet);
    std::memcpy(&packet, from, sizeof packet);
    return packet;
}

template <Access>
void store_packet(std::byte* to, Packet packet) {
    require_multiple(to, sizeof packet);
    std::memcpy(to, &packet, sizeof packet);
}

template <int bytes>
std::uint64_t load_piece(const std::byte* from) {
    require_multiple(from, bytes);
    std::uint64_t piece = 0;
    std::memcpy(&piece, from, bytes);
    return piece;
}

template <int bytes>
void store_piece(std::byte* to, std::uint64_t piece) {
    require_multiple(to, bytes);
    std::memcpy(to, &piece, bytes);
}

inline float float_of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t bits_of(float number) { return std::bit_cast<std::uint32_t>(number); }
inline double double_of_bits(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::uint64_t bits_of(double number) { return std::bit_cast<std::uint64_t>(number); }
inline float rounded_quotient(float a, float b) { return a / b; }
inline double rounded_quotient(double a, double b) { return a / b; }

inline float float_of_half(std::uint16_t bits) {
    return static_cast<float>(std::bit_cast<Half>(bits));
}
inline std::uint32_t halves_of(float low, float high) {
    return Half(low).bits | static_cast<std::uint32_t>(Half(high).bits) << 16;
}
inline std::uint32_t bfloat16s_of(float low, float high) {
    return BFloat16(low).bits | static_cast<std::uint32_t>(BFloat16(high).bits) << 16;
}

}  // namespace tutti::device
