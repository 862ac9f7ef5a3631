// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/types.hpp"

namespace tutti {

/// Whether a size of the OSU micro-benchmarks is that of one rank's block; else of the whole
/// vector.
inline bool osu_counts_blocks(Collective collective) {
    return !reduces(collective) && collective != Collective::broadcast;
}

}  // namespace tutti
