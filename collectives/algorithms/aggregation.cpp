// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// Every block goes down a binomial tree, the farthest jump first. While the ranks that have a block
// are at least `apart` places apart, all trees take a step together, in messages of up to
// P/(2 apart) blocks; after that, the parts of `apart` ranks take their edges one after the other,
// and messages do not grow.
Schedule aggregating_all_gather(int ranks, int apart) {
    struct Jump {
        int places;
        int first, stride;  // distances from the blocks that are sent to their sender
    };
    const Ring ring{ranks};
    std::vector<Jump> jumps;
    for (int places = power(2, rounds_to_reach(ranks, 2)) / 2; places >= apart; places /= 2)
        jumps.push_back({places, 0, 2 * places});
    for (int place = 1; place < apart; ++place) {
        const int places = place & -place;  // the edge to this place from its parent in the tree
        jumps.push_back({places, place - places, apart});
    }
    const int steps = int_size(jumps);
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const Jump& jump = at(jumps, now);
        for (Rank r : all_ranks(ranks))
            for (int behind = jump.first; behind + jump.places < ranks; behind += jump.stride)
                step.copy({.chunks = chunk_of(ring.behind(r, behind)),
                           .from = r,
                           .to = ring.ahead(r, jump.places)});
    });
}

}  // namespace

// ceil(log2 P) steps and (P-1)/P of the message for any P. Unlike bruck, the first message goes
// farthest and is one block, and the largest one goes to a neighbour (Loch, Koslovski 2021).
Schedule sparbit_all_gather(int ranks) { return aggregating_all_gather(ranks, 1); }

Schedule sparbit_reduce_scatter(int ranks) {
    return mirrored(sparbit_all_gather(ranks), Action::reduce);
}

// Messages of at most A blocks (A: the radix, rounded down to a power of two): small buffers are
// enough, for log2 A + P/A - 1 steps, P rounded up to a power of two. With the largest A it is
// sparbit (Jeaugey 2025, arXiv 2506.20252: parallel aggregated trees, NCCL's PAT).
Schedule pat_all_gather(int ranks, int radix) {
    const int leaves = power(2, rounds_to_reach(ranks, 2));
    const int aggregated = std::clamp(leaves / 2, 1, power_within(radix, 2));
    return aggregating_all_gather(ranks, leaves / aggregated);
}

Schedule pat_reduce_scatter(int ranks, int radix) {
    return mirrored(pat_all_gather(ranks, radix), Action::reduce);
}

}  // namespace tutti
