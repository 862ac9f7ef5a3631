// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/floats.hpp"

namespace tutti {

/// The loops behind codecs.hpp, of one instruction set. All sets give the same bits.
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
/// That this CPU can run.
const CodecSet& fastest_codecs();

}  // namespace tutti
