// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "collectives/algorithms/building_blocks.hpp"

namespace tutti {

// Every rank knows of the `width` ranks that end with it that they have entered, and tells the
// ranks 1 to radix - 1 widths ahead, so the widths multiply by the radix: ceil(log P) steps for any
// number of ranks (Hensgen, Finkel, Manber 1988). It may be told of a rank twice, which is why only
// a barrier can do this. With more peers per step there are fewer steps.
Schedule dissemination_barrier(int ranks, int radix) {
    const Ring ring{ranks};
    return Schedule(
        {ranks, /*chunks=*/1, rounds_to_reach(ranks, radix)}, [=](int round, Step& step) {
            const int width = power(radix, round);
            for (Rank r : all_ranks(ranks))
                for (int ahead = width; ahead < std::min(radix * width, ranks); ahead += width)
                    step.reduce({.chunks = whole_message, .from = r, .to = ring.ahead(r, ahead)});
        });
}

}  // namespace tutti
