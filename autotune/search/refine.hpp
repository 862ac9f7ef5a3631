// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "autotune/search/search_state.hpp"

namespace tutti {

/// What the first pass left open, until the shares of the options are spent: winners of
/// neighbouring sizes that have not raced at a size meet its winner, which goes down its scales
/// again; and more samples for the finalists, first where the choice is most in doubt for its
/// price, until no choice is in doubt or the finalists have enough.
void refine(SearchState& course);

}  // namespace tutti
