// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <optional>

#include "autotune/search/search_state.hpp"

namespace tutti {

/// How to interpolate from the nearest size below to the nearest above at which a family was
/// measured. Straight in logarithms; a latency and a bandwidth; the model, bent to meet both ends.
/// None is right everywhere: over many octaves the first is far too high where the second is exact,
/// and the second is too low where a protocol changes.
enum class Line { logarithmic, affine, model };
constexpr std::array<Line, 3> all_lines = {Line::logarithmic, Line::affine, Line::model};

/// Sizes at which a family was measured, around another.
struct Ends {
    std::optional<std::size_t> low, high;
    bool are_both() const { return low && high; }
};

Ends ends_of(const SearchState& state, std::size_t family, std::size_t size);

/// Where the line passes: the logarithm of the family's time at `size`. Nothing without both ends.
std::optional<double> level_between(const SearchState& state, std::size_t family, std::size_t size,
                                    Line line);

}  // namespace tutti
