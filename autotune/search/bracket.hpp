// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "autotune/search/search_state.hpp"

namespace tutti {

/// Who takes part at a size where nothing has raced yet: the winners of the measured sizes on both
/// sides, and one member of each family that may have come between. A family is left out only if
/// it was measured on both sides, and lost there by so much that no line between the two leads it
/// near the best; or if a model that proved right puts it far behind.
std::vector<int> candidates_at(const SearchState& course, std::size_t size);

/// Who takes part at an anchor: a representative of each family, but for those that a model which
/// proved right at other anchors puts very far behind.
std::vector<int> representatives_at(const SearchState& course, std::size_t size);

/// The best arm at a size where nothing has raced, by its neighbours; -1 if nothing is known.
int taken_over_at(const SearchState& course, std::size_t size);

}  // namespace tutti
