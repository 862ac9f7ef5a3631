// SPDX-License-Identifier: Apache-2.0
// One pass over memory, vector by vector. See vector_lanes.hpp for why all is in an unnamed
// namespace.
#pragma once
#include "kernels/vector_lanes.hpp"

namespace tutti {
namespace {

/// Pieces of memory of the same size, so few that the compiler knows how many and keeps their
/// addresses in registers.
template <class Byte, std::size_t known>
struct Few {
    Byte* starts[known];
    explicit Few(Byte* const* first) { __builtin_memcpy(starts, first, sizeof starts); }
    static constexpr std::size_t how_many() { return known; }
};

/// Any number; their addresses are read again for every block.
template <class Byte>
struct Many {
    Byte* const* starts;
    std::size_t number;
    std::size_t how_many() const { return number; }
};

/// Neighbouring vectors, computed together so that they need not wait for one another.
template <class Lanes, std::size_t vectors>
struct Block {
    typename Lanes::Stored at[vectors];

    template <class Outs>
    [[gnu::always_inline]] void store_to(const Outs& outs, std::size_t offset) const {
        for (std::size_t o = 0; o < outs.how_many(); ++o) {
            std::byte* out = outs.starts[o] + offset;
            for (std::size_t v = 0; v < vectors; ++v)
                __builtin_memcpy(out + v * Lanes::bytes, &at[v], Lanes::bytes);
        }
    }
};

/// Fills each of `outs`, of at least one vector, with what `result.block<Lanes, vectors>(offset)`
/// computes. The last vector may overlap the one before, and an out may be what is computed from:
/// so the last is computed before anything is written, and written after all else.
template <class Lanes, class Outs, class Result>
[[gnu::always_inline]] inline void pass(const Outs& outs, std::size_t bytes, const Result& result) {
    constexpr std::size_t vector = Lanes::bytes;
    const std::size_t last_offset = bytes - vector;
    const Block<Lanes, 1> last = result.template block<Lanes, 1>(last_offset);
    std::size_t done = 0;
    for (; done + 4 * vector <= last_offset; done += 4 * vector)
        result.template block<Lanes, 4>(done).store_to(outs, done);
    for (; done < last_offset; done += vector)
        result.template block<Lanes, 1>(done).store_to(outs, done);
    last.store_to(outs, last_offset);
}

/// The same for any number of bytes: narrower lanes where there is less than one vector.
template <class Lanes, class Outs, class Result>
void short_pass(const Outs& outs, std::size_t bytes, const Result& result) noexcept {
    if (bytes >= Lanes::bytes) return pass<Lanes>(outs, bytes, result);
    if constexpr (Lanes::bytes > Lanes::element_bytes)
        short_pass<typename Lanes::Narrower>(outs, bytes, result);
}

}  // namespace
}  // namespace tutti
