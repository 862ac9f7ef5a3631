// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <ranges>
#include <type_traits>

#include "base/floats.hpp"
#include "base/types.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Returns the DataType of a C++ element type: integers by size and sign, float, double, Half,
/// BFloat16, Fp8E4M3 and Fp8E5M2.
template <class T>
consteval DataType data_type_of() {
    if constexpr (std::same_as<T, Half>) return DataType::half;
    if constexpr (std::same_as<T, BFloat16>) return DataType::bfloat16;
    if constexpr (std::same_as<T, Fp8E4M3>) return DataType::fp8_e4m3;
    if constexpr (std::same_as<T, Fp8E5M2>) return DataType::fp8_e5m2;
    if constexpr (std::same_as<T, float>) return DataType::float32;
    if constexpr (std::same_as<T, double>) return DataType::float64;
    if constexpr (std::integral<T>) {
        constexpr bool is_signed = std::is_signed_v<T>;
        if constexpr (sizeof(T) == 1) return is_signed ? DataType::int8 : DataType::uint8;
        if constexpr (sizeof(T) == 2) return is_signed ? DataType::int16 : DataType::uint16;
        if constexpr (sizeof(T) == 4) return is_signed ? DataType::int32 : DataType::uint32;
        if constexpr (sizeof(T) == 8) return is_signed ? DataType::int64 : DataType::uint64;
    }
}

template <class T>
concept Element = std::same_as<T, Half> || std::same_as<T, BFloat16> || std::same_as<T, Fp8E4M3> ||
    std::same_as<T, Fp8E5M2> || std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8);

/// Contiguous elements: std::span, std::vector, std::array.
template <class R>
concept Elements = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    Element<std::remove_cv_t<std::remove_reference_t<std::ranges::range_reference_t<R>>>>;

template <Elements R>
using element_of = std::remove_cv_t<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Contiguous elements that can be written.
template <class R>
concept MutableElements =
    Elements<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Elements that outlive the statement: a variable or a view of it (std::span), but no temporary
/// that owns its elements.
template <class R>
concept LastingElements = Elements<R> && std::ranges::borrowed_range<R>;
template <class R>
concept LastingMutableElements = MutableElements<R> && std::ranges::borrowed_range<R>;

}  // namespace tutti
#pragma GCC visibility pop
