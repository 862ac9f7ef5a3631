// SPDX-License-Identifier: Apache-2.0
// half, computed in float: F16C converts 1 or 8 in one instruction, and rounds to nearest even. See
// vector_lanes.hpp for the reason of the unnamed namespace.
#pragma once
#include <immintrin.h>

#include "kernels/vector_lanes.hpp"

namespace tutti {
namespace {

/// Eight elements, or one: then it is the lowest of eight, and the rest are zeros.
template <std::size_t size>
struct HalfLanes {
    using Number = float;
    using Stored = Vector<std::uint16_t, 16>;
    using Wide = Vector<float, 32>;
    static constexpr std::size_t bytes = size;
    static constexpr std::size_t element_bytes = 2;
    using Narrower = HalfLanes<narrower(size, 2)>;

    static Wide widen(Stored stored) { return _mm256_cvtph_ps(reinterpret_cast<__m128i>(stored)); }
    static Stored narrow(Wide wide) {
        return reinterpret_cast<Stored>(_mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT));
    }
};

}  // namespace
}  // namespace tutti
