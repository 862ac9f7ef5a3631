// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "base/floats.hpp"

namespace tutti {

// Floats made shorter and back. Both spans have the same number of elements.

/// Rounded to nearest, ties to even: the relative error is at most 2^-8 (bfloat16) or 2^-11 (half,
/// from 2^-14 to 65504; above it overflows to infinity, below the absolute error is at most 2^-25).
void encode(std::span<const float> from, std::span<BFloat16> to);
void encode(std::span<const float> from, std::span<Half> to);
/// Exact.
void decode(std::span<const BFloat16> from, std::span<float> to);
void decode(std::span<const Half> from, std::span<float> to);

/// A float for each block of so many, and each as a byte of 127ths of it, where the float is the
/// block's largest magnitude: the error is at most 1/254 of that.
inline constexpr std::size_t int8_block = 1024;

/// Bytes of `count` floats so encoded: scales first, then bytes; whole cache lines.
std::size_t int8_bytes(std::size_t count);

/// Spans of bytes begin where a float may, and have at least int8_bytes() of the floats. A value
/// that is not finite spoils its own block only.
void encode_int8(std::span<const float> from, std::span<std::byte> to);
void decode_int8(std::span<const std::byte> from, std::span<float> to);
/// Adds in what decode_int8() would write.
void add_int8(std::span<const std::byte> from, std::span<float> to);

}  // namespace tutti
