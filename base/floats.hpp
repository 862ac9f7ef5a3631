// SPDX-License-Identifier: Apache-2.0
#pragma once
// Floating-point formats narrower than float.
#include <bit>
#include <cmath>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {

/// IEEE binary16 as stored. Converts to float exactly and from float to the nearest, ties to even.
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
        // Rounds off 13 fraction bits to nearest even; a carry correctly raises the exponent.
        const std::uint32_t magnitude = word & 0x7fffffffu;
        const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
        return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
    }
};

/// The upper 16 bits of a float. Converts to float exactly and from float to the nearest, ties to
/// even.
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

/// An 8-bit float as OCP and CUDA define it: a sign, exponent bits and fraction bits. Its functions
/// are constant expressions so that device code can call them.
template <int exponent_bits, std::uint8_t largest>
struct Fp8Format {
    static constexpr int fraction_bits = 7 - exponent_bits;
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr std::uint8_t nan = 0x7f;
    static constexpr std::uint32_t float_infinity = 0x7f800000u;

    /// Rounds to the nearest, ties to even. Values above the largest finite number, including
    /// infinity, become that number (CUDA's __NV_SATFINITE); NaN stays NaN.
    static constexpr std::uint8_t from_float(float value) {
        const auto word = std::bit_cast<std::uint32_t>(value);
        const auto sign = static_cast<std::uint8_t>((word >> 24) & 0x80u);
        const std::uint32_t magnitude = word & 0x7fffffffu;
        if (magnitude > float_infinity) return nan;
        if (magnitude >= std::bit_cast<std::uint32_t>(size_of_pattern(largest)))
            return sign | largest;
        if (magnitude < float_bits_of_exponent(1)) {  // subnormal: counted by the float adder
            constexpr std::uint32_t counter =
                float_bits_of_exponent(1) + (static_cast<std::uint32_t>(dropped_bits) << 23);
            const float size = std::bit_cast<float>(magnitude);
            const auto counted = std::bit_cast<std::uint32_t>(size + std::bit_cast<float>(counter));
            return static_cast<std::uint8_t>(sign | (counted - counter));
        }
        // A carry correctly raises the exponent.
        constexpr std::uint32_t below_half = (1u << (dropped_bits - 1)) - 1;
        const std::uint32_t rounded = magnitude + below_half + ((magnitude >> dropped_bits) & 1u);
        return static_cast<std::uint8_t>(
            sign | ((rounded - (float_bits_of_exponent(1) - (1u << 23))) >> dropped_bits));
    }

    static constexpr float to_float(std::uint8_t pattern) {
        const std::uint32_t sign = static_cast<std::uint32_t>(pattern & 0x80u) << 24;
        const auto size = static_cast<std::uint8_t>(pattern & 0x7fu);
        if (is_nan(size)) return std::bit_cast<float>(sign | 0x7fc00000u);
        if (size > largest) return std::bit_cast<float>(sign | float_infinity);
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(size_of_pattern(size)));
    }

private:
    static constexpr int dropped_bits = 23 - fraction_bits;

    // The bits of the float 2^(exponent - bias).
    static constexpr std::uint32_t float_bits_of_exponent(int exponent) {
        return static_cast<std::uint32_t>(exponent - bias + 127) << 23;
    }
    // E4M3 has no infinity and one NaN; in E5M2 the pattern after the largest number is infinity.
    static constexpr bool is_nan(std::uint8_t size) {
        return exponent_bits == 4 ? size == nan : size > largest + 1;
    }
    // Reads the bits as a float and multiplies by the difference of the exponent biases, which is
    // right for subnormals too.
    static constexpr float size_of_pattern(std::uint8_t size) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(size) << dropped_bits) *
               std::bit_cast<float>(static_cast<std::uint32_t>(127 - bias + 127) << 23);
    }
};

/// An 8-bit float as stored. Converts to float exactly and from float as from_float() does.
template <class Format>
struct Fp8 {
    std::uint8_t bits = 0;

    Fp8() = default;
    explicit constexpr Fp8(float value) : bits(Format::from_float(value)) {}
    explicit constexpr operator float() const { return Format::to_float(bits); }

    friend constexpr bool operator<(Fp8 a, Fp8 b) {
        return static_cast<float>(a) < static_cast<float>(b);
    }
};

using E4M3Format = Fp8Format<4, 0x7e>;
using E5M2Format = Fp8Format<5, 0x7b>;

/// 4 bits of exponent, 3 of fraction, no infinity ("e4m3fn"); the largest number is 448.
using Fp8E4M3 = Fp8<E4M3Format>;
/// 5 bits of exponent, 2 of fraction: the upper half of a binary16; the largest number is 57344.
using Fp8E5M2 = Fp8<E5M2Format>;

}  // namespace tutti
#pragma GCC visibility pop
