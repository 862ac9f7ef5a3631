// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "workloads/compress/codec_loops.hpp"

namespace tutti {
namespace {

constexpr std::size_t lanes = 8;

// F16C's instruction converts eight; the last few are copied through a buffer.
__m128i narrow(const float* floats) {
    return _mm256_cvtps_ph(_mm256_loadu_ps(floats), _MM_FROUND_TO_NEAREST_INT);
}

void encode_half(const float* from, std::size_t count, Half* to) {
    for (; count >= lanes; count -= lanes, from += lanes, to += lanes)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), narrow(from));
    if (count == 0) return;
    float last[lanes] = {};
    __builtin_memcpy(last, from, count * sizeof *from);
    const __m128i narrowed = narrow(last);
    __builtin_memcpy(static_cast<void*>(to), &narrowed, count * sizeof *to);
}

void decode_half(const Half* from, std::size_t count, float* to) {
    for (; count >= lanes; count -= lanes, from += lanes, to += lanes)
        _mm256_storeu_ps(to,
                         _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    if (count == 0) return;
    __m128i halves{};
    __builtin_memcpy(&halves, from, count * sizeof *from);
    float last[lanes];
    _mm256_storeu_ps(last, _mm256_cvtph_ps(halves));
    __builtin_memcpy(to, last, count * sizeof *to);
}

}  // namespace

extern const CodecSet avx2_codecs;
const CodecSet avx2_codecs{encode_bf16, decode_bf16, encode_half, decode_half,
                           encode_int8, decode_int8, add_int8};

}  // namespace tutti
