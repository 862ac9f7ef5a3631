// SPDX-License-Identifier: Apache-2.0
// Converts the elements in 8 bytes to numbers to compute with, and back.
#pragma once
#include <cstdint>
#include <type_traits>

#include "base/floats.hpp"
#include "kernels/cuda/instructions.cuh"

namespace tutti::device {

/// How numbers are stored. `rounded`: to the nearest, fp8 within the finite range. `exact`: the
/// number is one of the type's, perhaps an infinity.
enum class Storing { rounded, exact };

/// Integers, float and double, computed without conversion; integers below 4 bytes in 4 bytes.
template <class Element>
struct Lanes {
    static constexpr int count = 8 / sizeof(Element);
    static constexpr int bits = 8 * sizeof(Element);
    using Word = std::conditional_t<std::is_signed_v<Element>, std::int32_t, std::uint32_t>;
    using Number = std::conditional_t<(std::is_integral_v<Element> && bits < 32), Word, Element>;

    __device__ static void widen(std::uint64_t unit, Number (&numbers)[count]) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if constexpr (std::is_same_v<Element, double>)
                numbers[i] = double_of_bits(unit);
            else if constexpr (std::is_same_v<Element, float>)
                numbers[i] = float_of_bits(static_cast<std::uint32_t>(unit >> (i * bits)));
            else
                numbers[i] = static_cast<Element>(unit >> (i * bits));
        }
    }

    template <Storing>
    __device__ static std::uint64_t narrow(const Number (&numbers)[count]) {
        std::uint64_t unit = 0;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if constexpr (std::is_same_v<Element, double>)
                unit = bits_of(numbers[i]);
            else if constexpr (std::is_same_v<Element, float>)
                unit |= static_cast<std::uint64_t>(bits_of(numbers[i])) << (i * bits);
            else
                unit |= static_cast<std::uint64_t>(
                            static_cast<std::make_unsigned_t<Element>>(numbers[i]))
                        << (i * bits);
        }
        return unit;
    }
};

/// The common part of the 16-bit floats: Pair converts two of them to floats and back.
template <class Pair>
struct PairLanes {
    static constexpr int count = 4;
    using Number = float;

    __device__ static void widen(std::uint64_t unit, float (&numbers)[count]) {
#pragma unroll
        for (int i = 0; i < count; ++i)
            numbers[i] = Pair::widen(static_cast<std::uint16_t>(unit >> (16 * i)));
    }

    template <Storing>
    __device__ static std::uint64_t narrow(const float (&numbers)[count]) {
        return Pair::narrow(numbers[0], numbers[1]) |
               static_cast<std::uint64_t>(Pair::narrow(numbers[2], numbers[3])) << 32;
    }
};

struct HalfPair {
    __device__ static float widen(std::uint16_t bits) { return float_of_half(bits); }
    __device__ static std::uint32_t narrow(float low, float high) { return halves_of(low, high); }
};

struct BFloat16Pair {
    __device__ static float widen(std::uint16_t bits) {
        return float_of_bits(static_cast<std::uint32_t>(bits) << 16);
    }
    __device__ static std::uint32_t narrow(float low, float high) {
        return bfloat16s_of(low, high);
    }
};

template <>
struct Lanes<Half> : PairLanes<HalfPair> {};
template <>
struct Lanes<BFloat16> : PairLanes<BFloat16Pair> {};

// Devices have fp8 instructions from compute capability 8.9 on; for older ones the host's
// arithmetic gives the same bits.
struct E4M3Pair {
    using Format = E4M3Format;
#if __CUDA_ARCH__ >= 890
    __device__ static std::uint32_t halves(std::uint16_t pair) {
        std::uint32_t halves;
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
        return halves;
    }
    __device__ static std::uint16_t rounded(float low, float high) {
        std::uint16_t pair;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
        return pair;
    }
#endif
    __device__ static std::uint16_t exact(float low, float high);  // defined below
};

struct E5M2Pair {
    using Format = E5M2Format;
    // E5M2 numbers are the upper halves of binary16 numbers.
    __device__ static std::uint32_t halves(std::uint16_t pair) {
        return (pair & 0xffu) << 8 | (pair & 0xff00u) << 16;
    }
    __device__ static std::uint16_t exact(float low, float high) {
        const std::uint32_t halves = halves_of(low, high);
        return static_cast<std::uint16_t>((halves >> 8 & 0xffu) | (halves >> 16 & 0xff00u));
    }
#if __CUDA_ARCH__ >= 890
    __device__ static std::uint16_t rounded(float low, float high) {
        std::uint16_t pair;
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
        return pair;
    }
#endif
};

/// Converts two fp8 numbers to floats and back, by instructions if `Pair` has them.
template <class Pair>
__device__ inline void widen_fp8(std::uint16_t pair, float& low, float& high) {
    if constexpr (requires { Pair::halves(pair); }) {
        const std::uint32_t halves = Pair::halves(pair);
        low = float_of_half(static_cast<std::uint16_t>(halves));
        high = float_of_half(static_cast<std::uint16_t>(halves >> 16));
    } else {
        low = Pair::Format::to_float(static_cast<std::uint8_t>(pair));
        high = Pair::Format::to_float(static_cast<std::uint8_t>(pair >> 8));
    }
}

template <class Pair>
__device__ inline std::uint16_t narrow_fp8(float low, float high) {
    if constexpr (requires { Pair::rounded(low, high); })
        return Pair::rounded(low, high);
    else
        return static_cast<std::uint16_t>(Pair::Format::from_float(low) |
                                          Pair::Format::from_float(high) << 8);
}

// E4M3 has no infinity to keep.
__device__ inline std::uint16_t E4M3Pair::exact(float low, float high) {
    return narrow_fp8<E4M3Pair>(low, high);
}

template <class Pair>
struct Fp8Lanes {
    static constexpr int count = 8;
    using Number = float;

    __device__ static void widen(std::uint64_t unit, float (&numbers)[count]) {
#pragma unroll
        for (int i = 0; i < count; i += 2)
            widen_fp8<Pair>(static_cast<std::uint16_t>(unit >> (8 * i)), numbers[i],
                            numbers[i + 1]);
    }

    template <Storing storing>
    __device__ static std::uint64_t narrow(const float (&numbers)[count]) {
        std::uint64_t unit = 0;
#pragma unroll
        for (int i = 0; i < count; i += 2) {
            const std::uint16_t pair = storing == Storing::exact
                                           ? Pair::exact(numbers[i], numbers[i + 1])
                                           : narrow_fp8<Pair>(numbers[i], numbers[i + 1]);
            unit |= static_cast<std::uint64_t>(pair) << (8 * i);
        }
        return unit;
    }
};

template <>
struct Lanes<Fp8E4M3> : Fp8Lanes<E4M3Pair> {};
template <>
struct Lanes<Fp8E5M2> : Fp8Lanes<E5M2Pair> {};

}  // namespace tutti::device
