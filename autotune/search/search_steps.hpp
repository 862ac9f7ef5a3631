// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "autotune/search/search_state.hpp"

namespace tutti {

/// Who takes part at a size where nothing has raced yet: the winners of the measured sizes on both
/// sides, and one member of each family that may have come between. A family is left out only if it
/// was measured on both sides, and lost there by so much that no interpolation between the two
/// comes near the best; or if a model that was right so far predicts it far behind.
std::vector<int> candidates_at(const SearchState& state, std::size_t size);

/// Who takes part at an anchor: a representative of each family, but for those that a model which
/// was right at other anchors predicts very far behind.
std::vector<int> representatives_at(const SearchState& state, std::size_t size);

/// The best arm at a size where nothing has raced, taken from its neighbours; -1 if nothing is
/// known.
int taken_over_at(const SearchState& state, std::size_t size);

/// From the best known member of a family to a better one: one parameter after the other moves
/// while that helps, at first by `stride` levels, then by half of that. Right where times have one
/// minimum along each scale, as they have for segments, channels and radix (AutoCCL, NSDI 2025);
/// far strides first, as members whose segments exceed the message are all alike.
void descend(SearchState& state, std::size_t family, std::size_t size, int stride);

/// What the first pass left open, until the shares of the options are spent: winners of
/// neighbouring sizes that have not raced at a size meet its winner, which goes down its scales
/// again; and more samples for the finalists, first where the choice is most in doubt for the time
/// that a sample costs, until no choice is in doubt or the finalists have enough.
void refine(SearchState& state);

}  // namespace tutti
