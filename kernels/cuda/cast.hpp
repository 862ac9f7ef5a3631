// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "kernels/cuda/reduce.hpp"

namespace tutti::device {

/// to[i] = the float from[i] as half, bfloat16 or fp8 `type`, rounded to nearest even (fp8 within
/// its finite range), or the other way round, exactly. Any alignment; the two must not overlap.
/// Throws Error for another type, or if the launch fails.
void cast_from_float(DataType type, std::byte* to, const float* from, std::int64_t count,
                     Stream stream, int waves = 4);
void cast_to_float(DataType type, float* to, const std::byte* from, std::int64_t count,
                   Stream stream, int waves = 4);

}  // namespace tutti::device
