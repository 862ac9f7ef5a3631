// SPDX-License-Identifier: Apache-2.0
// Stores past the caches; where the architecture has none, unregistered ones. See vector_lanes.hpp
// for why all is in an unnamed namespace.
#pragma once
#include "kernels/vector_lanes.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace tutti {
namespace {

#ifdef __SSE2__
/// Stores a whole register, to memory aligned to its size.
template <class Stored>
[[gnu::always_inline]] inline void stream(std::byte* to, Stored vector) {
    if constexpr (sizeof vector == 64)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(vector));
    else if constexpr (sizeof vector == 32)
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(vector));
    else
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(vector));
}

/// Whoever sees a store made after this sees what was streamed before it.
[[gnu::always_inline]] inline void publish_streamed() { _mm_sfence(); }
#else
template <class Stored>
[[gnu::always_inline]] inline void stream(std::byte* to, Stored vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
}

[[gnu::always_inline]] inline void publish_streamed() {}
#endif

}  // namespace
}  // namespace tutti
