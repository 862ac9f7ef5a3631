// SPDX-License-Identifier: Apache-2.0
// Kernels on a GPU, launched by the host. They run on the current device of the calling thread and
// return at once; `stream` is a cudaStream_t, nullptr means the default stream.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/types.hpp"

namespace tutti::device {

using Stream = void*;

inline constexpr int most_sources = 64;
inline constexpr int most_outs = 16;

/// Reduces as specified for ReduceKernel in kernels/sets.hpp, with the same bits except those of a
/// NaN; Op::avg then divides by `divisor`, like DivideKernel. All pointers refer to memory that the
/// device can reach, at any alignment. `waves`: how often the grid fills the device, if there is
/// enough work. Throws Error for no or too many sources or outs, a divisor below 1, or if the
/// launch fails.
void reduce(DataType type, Op op, std::span<std::byte* const> outs,
            std::span<const std::byte* const> sources, std::int64_t count, Stream stream,
            int divisor = 1, int waves = 4);

/// Divides data[i] /= divisor, like DivideKernel. Throws Error as reduce().
void divide(DataType type, std::byte* data, std::int64_t count, int divisor, Stream stream);

/// Copies `from` to every out, like reduce() of one source.
void copy(std::span<std::byte* const> outs, const std::byte* from, std::int64_t bytes,
          Stream stream, int waves = 4);

/// Returns why this program cannot use a GPU ("no GPU is present (...)"), or "" if it can.
std::string why_no_gpu();

/// to[i] = the float from[i] as half, bfloat16 or fp8 `type`, rounded to nearest even (fp8 within
/// its finite range), or the other way round, exactly. Any alignment; the two must not overlap.
/// Throws Error for another type, or if the launch fails.
void cast_from_float(DataType type, std::byte* to, const float* from, std::int64_t count,
                     Stream stream, int waves = 4);
void cast_to_float(DataType type, float* to, const std::byte* from, std::int64_t count,
                   Stream stream, int waves = 4);

}  // namespace tutti::device
