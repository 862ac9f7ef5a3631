// SPDX-License-Identifier: Apache-2.0
// 8-bit floats as OCP and CUDA define them. Constant expressions, so that device code may call
// them.
#pragma once
#include <bit>
#include <cstdint>

#pragma GCC visibility push(default)
namespace tutti {

/// A sign, exponent bits and fraction bits: how the two formats differ.
template <int exponent_bits, std::uint8_t largest>
struct Fp8Format {
    static constexpr int fraction_bits = 7 - exponent_bits;
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr std::uint8_t nan = 0x7f;
    static constexpr std::uint32_t float_infinity = 0x7f800000u;

    /// To the nearest, ties to even. What is larger than the largest finite number, infinity too,
    /// becomes that number (CUDA's __NV_SATFINITE); a NaN stays one.
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
        // A carry runs on into the exponent as it should.
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
    // E4M3 has no infinity and one NaN; in E5M2 the pattern behind the largest number is infinity.
    static constexpr bool is_nan(std::uint8_t size) {
        return exponent_bits == 4 ? size == nan : size > largest + 1;
    }
    // Read as a float's, the exponent is too small by the difference of the biases; scaled back,
    // subnormals come out right too.
    static constexpr float size_of_pattern(std::uint8_t size) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(size) << dropped_bits) *
               std::bit_cast<float>(static_cast<std::uint32_t>(127 - bias + 127) << 23);
    }
};

/// An 8-bit float as stored. Converts to float exactly, and back as from_float() says.
template <class Format>
struct Fp8 {
    std::uint8_t bits = 0;

    Fp8() = default;
    explicit constexpr Fp8(float value) : bits(Format::from_float(value)) {}
    explicit constexpr operator float() const { return Format::to_float(bits); }

    // By value; whichever a minimum or maximum picks keeps its bits, infinities among them.
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
