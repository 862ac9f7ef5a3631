// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {

/// IEEE binary16 as stored. Converts to float exactly, and back to the nearest (ties to even).
struct Half {
    std::uint16_t bits = 0;

    Half() = default;
    explicit Half(float value) : bits(from_float(value)) {}
    explicit operator float() const {
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
        const std::uint32_t exponent = (bits >> 10) & 0x1fu;
        const std::uint32_t fraction = bits & 0x3ffu;
        if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
            const float size = static_cast<float>(fraction) * 0x1p-24f;
            return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
        }
        if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    }

private:
    static std::uint16_t from_float(float value) {
        const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
        const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
        const float size = std::fabs(value);
        if (std::isnan(value))  // quiet, upper payload bits kept, as F16C does
            return static_cast<std::uint16_t>(sign | 0x7e00u | ((word >> 13) & 0x3ffu));
        if (size >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to inf
        if (size < 0x1p-14f)  // subnormal: count of 2^-24, rounded by the float adder
            return static_cast<std::uint16_t>(
                sign | (std::bit_cast<std::uint32_t>(size + 0.5f) - 0x3f000000u));
        // Round off 13 fraction bits to nearest even; a carry runs on into the exponent as it
        // should.
        const std::uint32_t magnitude = word & 0x7fffffffu;
        const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
        return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
    }
};

/// The upper 16 bits of a float. Converts to float exactly, and back to the nearest (ties to even).
struct BFloat16 {
    std::uint16_t bits = 0;

    BFloat16() = default;
    explicit BFloat16(float value) {
        const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
        if (std::isnan(value)) {
            bits = static_cast<std::uint16_t>((word >> 16) | 0x40u);
        } else {
            bits = static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
        }
    }
    explicit operator float() const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
};

}  // namespace tutti
#pragma GCC visibility pop
