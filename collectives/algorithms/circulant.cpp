// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// known[k] is the number of blocks (its own and those of the ranks ahead) that a rank has before
// step k; the last entry is P. The number is the same for all ranks, so to multiply it by m, a rank
// receives from m-1 others.
Schedule spreading_all_gather(int ranks, const std::vector<int>& known) {
    const Ring ring{ranks};
    const int steps = static_cast<int>(known.size()) - 1;
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const int have = at(known, now);
        const int goal = known[static_cast<std::size_t>(now) + 1];
        for (Rank r : all_ranks(ranks))
            for (int places = have; places < goal; places += have) {
                const Rank ahead = ring.ahead(r, places);
                for (const Chunks blocks : ring.arc(ahead, std::min(have, goal - places)))
                    step.copy({.chunks = blocks, .from = ahead, .to = r});
            }
    });
}

}  // namespace

// Known blocks multiply by the radix until all P are known: ceil(log P) steps and (P-1)/P of the
// message for any P, both optimal with radix 2 (Bruck et al. 1997).
Schedule bruck_all_gather(int ranks, int radix) {
    std::vector<int> known{1};
    while (known.back() < ranks) known.push_back(std::min(radix * known.back(), ranks));
    return spreading_all_gather(ranks, known);
}

// Like Bruck's, but the numbers of known blocks are P divided by the radix (rounded up) repeatedly,
// which makes the mirror image a reduce-scatter with equally even steps (Traeff, arXiv 2410.14234,
// for radix 2).
Schedule circulant_all_gather(int ranks, int radix) {
    std::vector<int> known{ranks};
    while (known.back() > 1) known.push_back(divide_up(known.back(), radix));
    std::reverse(known.begin(), known.end());
    return spreading_all_gather(ranks, known);
}

Schedule circulant_reduce_scatter(int ranks, int radix) {
    return mirrored(circulant_all_gather(ranks, radix), Action::reduce);
}

// 2 ceil(log P) steps and exactly 2(P-1)/P of the message for any P: no fold if P is not a power of
// two. Best for medium and large messages on odd rank counts.
Schedule circulant_all_reduce(int ranks, int radix) {
    return circulant_reduce_scatter(ranks, radix).then(circulant_all_gather(ranks, radix));
}

// A block for the rank d places ahead jumps v radix^k places for every digit v of d: ceil(log P)
// steps with radix-1 messages each. With radix 2 about (log2 P)/2 vectors: best for tiny blocks.
// With a larger radix, blocks are forwarded less often; with radix P every rank sends directly to
// every other (Bruck et al. 1997).
Schedule bruck_all_to_all(int ranks, int radix) {
    const Ring ring{ranks};
    const Extent extent{ranks, /*chunks=*/ranks * ranks, rounds_to_reach(ranks, radix)};
    return Schedule(extent, [=](int round, Step& step) {
        const int place = power(radix, round);
        for (Rank r : all_ranks(ranks))
            for (int jump = place; jump < std::min(radix * place, ranks); jump += place) {
                const Rank to = ring.ahead(r, jump);
                if (!step.concerns(r, to)) continue;
                for (int distance = jump; distance < ranks; ++distance) {
                    if (digit_of(distance, place, radix) * place != jump) continue;
                    const Rank sender = ring.behind(r, distance % place);
                    const Rank receiver = ring.ahead(sender, distance);
                    step.copy({.chunks = {sender.index * ranks + receiver.index, 1},
                               .from = r,
                               .to = to});
                }
            }
    });
}

}  // namespace tutti
