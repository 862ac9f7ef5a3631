// SPDX-License-Identifier: Apache-2.0
// One pass over memory, vector by vector. See vector_lanes.hpp for the reason of the unnamed
// namespace.
#pragma once
#include "kernels/sets.hpp"
#include "kernels/vector_lanes.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace tutti {
namespace {

// Stores that bypass the caches; ordinary ones if the architecture has none.
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

/// A rank that sees a store made after this also sees the streamed data before it.
[[gnu::always_inline]] inline void publish_streamed() { _mm_sfence(); }
#else
template <class Stored>
[[gnu::always_inline]] inline void stream(std::byte* to, Stored vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
}

[[gnu::always_inline]] inline void publish_streamed() {}
#endif

/// A few pieces of memory of the same size; their number is a constant, so the compiler keeps their
/// addresses in registers.
template <class Byte, std::size_t known>
struct Few {
    Byte* starts[known];
    explicit Few(Byte* const* first) { __builtin_memcpy(starts, first, sizeof starts); }
    static constexpr std::size_t how_many() { return known; }
};

/// Any number of pieces; their addresses are read again for every block.
template <class Byte>
struct Many {
    Byte* const* starts;
    std::size_t number;
    std::size_t how_many() const { return number; }
};

/// Vectors per block, measured on Zen 5 in L2. Two sources: eight (float sum into one place,
/// AVX-512: 8 move 233 GB/s, 16 move 217, 2 move 225; memcpy 247).
template <class Lanes>
constexpr std::size_t long_block = 8 * sizeof(typename Lanes::Stored) /
                                   sizeof(typename Lanes::Wide);

/// For more streams, at most two lines of each (sum of four, AVX-512: 2 vectors move 230 GB/s, 8
/// move 145); always whole lines, for streaming.
template <class Lanes>
constexpr std::size_t short_block = Lanes::bytes < 32 ? 4 : 128 / Lanes::bytes;

template <Stores stores, std::size_t bytes, class Stored>
[[gnu::always_inline]] inline void store_vector(std::byte* to, Stored vector) {
    if constexpr (stores == Stores::streaming)
        stream(to, vector);
    else
        __builtin_memcpy(to, &vector, bytes);
}

/// Neighbouring vectors, computed together so that they need not wait for one another.
template <class Lanes, std::size_t vectors>
struct Block {
    typename Lanes::Stored at[vectors];

    /// Stores to one out after the other: a line is written completely before the next is begun, so
    /// that streaming stores are combined.
    template <Stores stores, class Outs>
    [[gnu::always_inline]] void store_to(const Outs& outs, std::size_t offset) const {
        for (std::size_t o = 0; o < outs.how_many(); ++o) {
            std::byte* out = outs.starts[o] + offset;
#pragma GCC unroll 16
            for (std::size_t v = 0; v < vectors; ++v)
                store_vector<stores, Lanes::bytes>(out + v * Lanes::bytes, at[v]);
        }
    }
};

/// A stretch of the memory, in bytes from its start.
struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

/// Stores blocks of `result.block<Lanes, vectors>(offset)` to each of `outs`, as many as fit into
/// the range; returns where it stopped.
template <class Lanes, std::size_t vectors, Stores stores, class Outs, class Result>
[[gnu::always_inline]] inline std::size_t blocks(const Outs& outs, Range range,
                                                 const Result& result) {
    constexpr std::size_t step = vectors * Lanes::bytes;
    for (; range.size() >= step; range.begin += step)
        result.template block<Lanes, vectors>(range.begin)
            .template store_to<stores>(outs, range.begin);
    return range.begin;
}

/// Fills a range of at least one vector. The last vector may overlap the previous one, and an out
/// may be a source: so the last one is computed before anything is written, and written at the end.
template <class Lanes, std::size_t vectors, class Outs, class Result>
[[gnu::always_inline]] inline void pass(const Outs& outs, Range range, const Result& result) {
    const std::size_t last_offset = range.end - Lanes::bytes;
    const Block<Lanes, 1> last = result.template block<Lanes, 1>(last_offset);
    --range.end;  // at least one byte remains for the last vector
    range.begin = blocks<Lanes, vectors, Stores::cached>(outs, range, result);
    blocks<Lanes, 1, Stores::cached>(outs, range, result);
    last.template store_to<Stores::cached>(outs, last_offset);
}

/// Fills a range of any size: with narrower lanes for less than one vector.
template <class Lanes, std::size_t vectors, class Outs, class Result>
void any_pass(const Outs& outs, Range range, const Result& result) noexcept {
    if (range.size() >= Lanes::bytes) return pass<Lanes, vectors>(outs, range, result);
    if constexpr (Lanes::bytes > Lanes::element_bytes)
        any_pass<typename Lanes::Narrower, 1>(outs, range, result);
}

/// Returns the bytes before the first whole line of every out, if the lines of all begin at the
/// same element; else `bytes`, because there is no such line.
template <class Lanes, class Outs>
std::size_t bytes_before_lines(const Outs& outs, std::size_t bytes) noexcept {
    constexpr std::size_t line = 64;
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(outs.starts[0]) % line;
    for (std::size_t o = 1; o < outs.how_many(); ++o)
        if (-reinterpret_cast<std::uintptr_t>(outs.starts[o]) % line != before) return bytes;
    return before % Lanes::element_bytes == 0 && before < bytes ? before : bytes;
}

/// Fills whole lines by streaming stores; the rest before and after them by ordinary ones.
template <class Lanes, class Outs, class Result>
void streaming_pass(const Outs& outs, std::size_t first_line, std::size_t bytes,
                    const Result& result) noexcept {
    constexpr std::size_t vectors = short_block<Lanes>;
    any_pass<Lanes, vectors>(outs, {0, first_line}, result);
    const std::size_t rest =
        blocks<Lanes, vectors, Stores::streaming>(outs, {first_line, bytes}, result);
    any_pass<Lanes, vectors>(outs, {rest, bytes}, result);
    publish_streamed();
}

}  // namespace
}  // namespace tutti
