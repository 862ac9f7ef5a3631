// SPDX-License-Identifier: Apache-2.0
#pragma once
// Only for codecs_*.cpp, each compiled for another instruction set. Everything is in an unnamed
// namespace, so that the linker cannot use one set's code for another. The loops have no branches,
// so the compiler vectorizes them.
#include "workloads/compress/codecs.hpp"

namespace tutti {
namespace {

// Same as BFloat16(float) in base/floats.hpp.
void encode_bf16(const float* from, std::size_t count, BFloat16* to) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t word = __builtin_bit_cast(std::uint32_t, from[i]);
        const std::uint32_t nearest_even = word + 0x7fffu + ((word >> 16) & 1u);
        const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
        to[i].bits = static_cast<std::uint16_t>((is_nan ? word | 0x400000u : nearest_even) >> 16);
    }
}

void decode_bf16(const BFloat16* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i)
        to[i] = __builtin_bit_cast(float, static_cast<std::uint32_t>(from[i].bits) << 16);
}

float encode_int8(const float* from, std::size_t count, std::int8_t* to) {
    // Magnitudes are in the order of their bits; so it takes integers alone.
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t size = __builtin_bit_cast(std::uint32_t, from[i]) & 0x7fffffffu;
        most = size > most ? size : most;
    }
    const float scale = __builtin_bit_cast(float, most) / 127;
    // Numbers so small that they have no inverse become 0.
    const float inverse = scale > 0x1p-126F ? 1 / scale : 0;
    for (std::size_t i = 0; i < count; ++i) {
        float number = from[i] * inverse;
        number = number < 127.F ? number : 127.F;  // also what is no number
        number = number > -127.F ? number : -127.F;
        // The adder rounds to nearest even, and leaves the integer in the lower bits.
        constexpr float shift = 0x1.8p23F;
        to[i] = static_cast<std::int8_t>(__builtin_bit_cast(std::int32_t, number + shift) -
                                         __builtin_bit_cast(std::int32_t, shift));
    }
    return scale;
}

void decode_int8(float scale, const std::int8_t* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = scale * static_cast<float>(from[i]);
}

void add_int8(float scale, const std::int8_t* from, std::size_t count, float* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] += scale * static_cast<float>(from[i]);
}

}  // namespace
}  // namespace tutti
