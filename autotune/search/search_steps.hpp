// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "autotune/search/search_state.hpp"

namespace tutti {

/// How to interpolate between the nearest sizes below and above at which a family was measured:
/// straight in logarithms; a latency and a bandwidth; the model, bent to meet both ends. None is
/// right everywhere: over many octaves the first is far too high where the second is exact, and the
/// second is too low where a protocol changes.
enum class Line { logarithmic, affine, model };
constexpr std::array<Line, 3> all_lines = {Line::logarithmic, Line::affine, Line::model};

/// The nearest measured sizes of a family around another size.
struct Ends {
    std::optional<std::size_t> low, high;
    bool are_both() const { return low && high; }
};

Ends ends_of(const SearchState& state, std::size_t family, std::size_t size);

/// Returns the interpolated logarithm of the family's time at `size`. None without both ends.
std::optional<double> level_between(const SearchState& state, std::size_t family, std::size_t size,
                                    Line line);

/// Returns the candidates at a size where nothing has raced yet: the winners of the measured sizes
/// on both sides, and one member of each family that may win in between. A family is left out if it
/// was measured on both sides and lost so clearly that no interpolation comes near the best, or the
/// model corrected by both measurements does not; or if a model that was right so far predicts it
/// to be much slower.
std::vector<int> candidates_at(const SearchState& state, std::size_t size);

/// Returns the candidates at an anchor: a representative of each family, except families that a
/// model which was right at other anchors predicts to be much slower.
std::vector<int> representatives_at(const SearchState& state, std::size_t size);

/// Returns the best arm at a size where nothing has raced, taken from its neighbours; -1 if none is
/// known.
int taken_over_at(const SearchState& state, std::size_t size);

/// Moves from the best known member of a family to a better one: changes one parameter after the
/// other while that helps, at first by `stride` levels, then by half of that. This works if times
/// have one minimum along each scale, as for segments, channels and radix (AutoCCL, NSDI 2025).
/// Large strides come first, because members whose segments exceed the message are all equal.
void descend(SearchState& state, std::size_t family, std::size_t size, int stride);

/// Spends the rest of the search's shares on open questions. Winners of neighbouring sizes that
/// have not raced at a size race against its winner, which descends its scales again. Then
/// finalists get more samples, first where the doubt per sample cost is largest, until no choice is
/// in doubt or the finalists have enough samples.
void refine(SearchState& state);

}  // namespace tutti
