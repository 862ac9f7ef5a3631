// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/floats.hpp"
#include "base/with_type.hpp"

namespace tutti::check_data {

/// The unsigned integer with this many bytes.
template <std::size_t bytes>
using WordOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

/// The type in which one computes with a floating-point T and rounds back.
template <class T>
using WideOf = std::conditional_t<std::same_as<T, double>, double, float>;

/// The bits of an element, in the low end of a word: what is stored and compared.
template <class T>
std::uint64_t pattern_of(T value) {
    return std::bit_cast<WordOf<sizeof(T)>>(value);
}

/// The nearest T, which is `number` itself within the limits below; an integer keeps the low bits.
template <class T>
std::uint64_t pattern_of_number(std::int64_t number) {
    if constexpr (std::integral<T>)
        return pattern_of(static_cast<T>(number));
    else
        return pattern_of(T(static_cast<WideOf<T>>(number)));
}

/// Whole numbers up to this are all exact in T: it has that many bits of significand.
template <class T>
inline constexpr std::int64_t exact_integers = std::int64_t{1} << std::numeric_limits<T>::digits;
template <>
inline constexpr std::int64_t exact_integers<Half> = 1 << 11;
template <>
inline constexpr std::int64_t exact_integers<BFloat16> = 1 << 8;
template <>
inline constexpr std::int64_t exact_integers<Fp8E4M3> = 1 << 4;
template <>
inline constexpr std::int64_t exact_integers<Fp8E5M2> = 1 << 3;

/// Powers of two from -this to this are normal numbers of T.
template <class T>
inline constexpr int exact_exponents = -std::numeric_limits<T>::min_exponent + 1;
template <>
inline constexpr int exact_exponents<Half> = 14;
template <>
inline constexpr int exact_exponents<BFloat16> = 126;
template <>
inline constexpr int exact_exponents<Fp8E4M3> = 6;
template <>
inline constexpr int exact_exponents<Fp8E5M2> = 14;

/// Numbers that are exact in T, as `span` + 1 whole ones from `lowest` on, modulo 2^64.
struct SafeRange {
    std::uint64_t lowest;
    std::uint64_t span;
};

template <class T>
constexpr SafeRange safe_range() {
    if constexpr (std::integral<T>)
        return {.lowest = static_cast<std::uint64_t>(std::numeric_limits<T>::min()),
                .span = std::numeric_limits<WordOf<sizeof(T)>>::max()};
    else
        return {.lowest = static_cast<std::uint64_t>(-exact_integers<T>),
                .span = static_cast<std::uint64_t>(2 * exact_integers<T>)};
}

}  // namespace tutti::check_data
