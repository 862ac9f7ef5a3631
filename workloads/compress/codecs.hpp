// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
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

/// One float for each block of this many elements, and one byte for each element in 127ths of it.
/// The float is the block's largest magnitude, so the error is at most 1/254 of that.
inline constexpr std::size_t int8_block = 1024;

/// Bytes of `count` floats so encoded: scales first, then bytes; whole cache lines.
std::size_t int8_bytes(std::size_t count);

/// Spans of bytes begin where a float may, and have at least int8_bytes() of the floats. A value
/// that is not finite spoils its own block only.
void encode_int8(std::span<const float> from, std::span<std::byte> to);
void decode_int8(std::span<const std::byte> from, std::span<float> to);
/// Adds in what decode_int8() would write.
void add_int8(std::span<const std::byte> from, std::span<float> to);

/// The loops of codecs.hpp for one instruction set. All sets give the same bits.
struct CodecSet {
    void (*encode_bf16)(const float* from, std::size_t count, BFloat16* to);
    void (*decode_bf16)(const BFloat16* from, std::size_t count, float* to);
    void (*encode_half)(const float* from, std::size_t count, Half* to);
    void (*decode_half)(const Half* from, std::size_t count, float* to);
    /// One block: the scale is returned.
    float (*encode_int8)(const float* from, std::size_t count, std::int8_t* to);
    void (*decode_int8)(float scale, const std::int8_t* from, std::size_t count, float* to);
    void (*add_int8)(float scale, const std::int8_t* from, std::size_t count, float* to);
};

extern const CodecSet portable_codecs;
/// Returns the fastest codecs that this CPU can run.
const CodecSet& fastest_codecs();

}  // namespace tutti
