// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/types.hpp"

namespace tutti {

/// Returns what the busiest of several ranks must send or receive, whichever is more, as a share of
/// the vector: of the blocks of all ranks, for all_to_all of one rank's data.
double busiest_share(Collective collective, int ranks);

}  // namespace tutti
