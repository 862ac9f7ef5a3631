// SPDX-License-Identifier: Apache-2.0
// One pass over memory, vector by vector. See vector_lanes.hpp for why all is in an unnamed
// namespace.
#pragma once
#include "kernels/vector_lanes.hpp"

namespace tutti {
namespace {

/// Neighbouring vectors, computed together so that they need not wait for one another.
template <class Lanes, std::size_t vectors>
struct Block {
    typename Lanes::Wide at[vectors];

    [[gnu::always_inline]] void store_to(std::byte* out) const {
        for (std::size_t v = 0; v < vectors; ++v) store<Lanes>(out + v * Lanes::bytes, at[v]);
    }
};

/// Fills `out`, of at least one vector, with what `result.block<Lanes, vectors>(offset)` computes.
/// The last vector may overlap the one before, and `out` may be what is computed from: so the last
/// is computed before anything is written, and written after all else.
template <class Lanes, class Result>
[[gnu::always_inline]] inline void pass(std::byte* out, std::size_t bytes, const Result& result) {
    constexpr std::size_t vector = Lanes::bytes;
    const std::size_t last_offset = bytes - vector;
    const Block<Lanes, 1> last = result.template block<Lanes, 1>(last_offset);
    std::size_t done = 0;
    for (; done + 4 * vector <= last_offset; done += 4 * vector)
        result.template block<Lanes, 4>(done).store_to(out + done);
    for (; done < last_offset; done += vector)
        result.template block<Lanes, 1>(done).store_to(out + done);
    last.store_to(out + last_offset);
}

/// The same for any number of bytes: narrower lanes where there is less than one vector.
template <class Lanes, class Result>
void short_pass(std::byte* out, std::size_t bytes, const Result& result) noexcept {
    if (bytes >= Lanes::bytes) return pass<Lanes>(out, bytes, result);
    if constexpr (Lanes::bytes > Lanes::element_bytes)
        short_pass<typename Lanes::Narrower>(out, bytes, result);
}

}  // namespace
}  // namespace tutti
