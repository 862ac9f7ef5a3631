// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// A rank knows the blocks of neighbours on both sides. At each step it receives as many again from
// the rank just beyond them on each side: ceil(log3 P) steps and (P-1)/P of the message for any P.
// Same cost as bruck with radix 3, but blocks come from both directions, over half the distance:
// for machines with two ports per rank (Trivance, arXiv 2602.17254).
Schedule trivance_all_gather(int ranks) {
    struct Known {
        int left, right;  // the numbers of neighbours whose blocks are known
        int all() const { return left + 1 + right; }
    };
    const Ring ring{ranks};
    std::vector<Known> known{{0, 0}};  // before each step, and at the end
    while (known.back().all() < ranks) {
        const auto [left, right] = known.back();
        const int width = known.back().all(), missing = ranks - width;
        const int more_right = std::min(width, divide_up(missing, 2));
        known.push_back({left + std::min(width, missing - more_right), right + more_right});
    }
    const int steps = int_size(known) - 1;
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const Known& before = at(known, now);
        const Known& after = at(known, now + 1);
        for (Rank r : all_ranks(ranks)) {
            for (const Chunks blocks :
                 ring.arc(ring.ahead(r, before.right + 1), after.right - before.right))
                step.copy({.chunks = blocks, .from = ring.ahead(r, before.all()), .to = r});
            for (const Chunks blocks :
                 ring.arc(ring.behind(r, after.left), after.left - before.left))
                step.copy({.chunks = blocks, .from = ring.behind(r, before.all()), .to = r});
        }
    });
}

Schedule trivance_reduce_scatter(int ranks) {
    return mirrored(trivance_all_gather(ranks), Action::reduce);
}

Schedule trivance_all_reduce(int ranks) {
    return trivance_reduce_scatter(ranks).then(trivance_all_gather(ranks));
}

}  // namespace tutti
