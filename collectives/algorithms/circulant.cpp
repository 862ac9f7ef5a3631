// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// known[k]: how many blocks (its own and those of the ranks ahead) a rank has before step k; the
// last entry is all P. No entry may be more than twice the one before.
Schedule spreading_all_gather(int ranks, const std::vector<int>& known) {
    const Ring ring{ranks};
    const int steps = static_cast<int>(known.size()) - 1;
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const int have = known[static_cast<std::size_t>(now)];
        const int more = known[static_cast<std::size_t>(now) + 1] - have;
        for (Rank r : all_ranks(ranks)) {
            const Rank ahead = ring.ahead(r, have);
            for (const Chunks blocks : ring.arc(ahead, more))
                step.copy({.chunks = blocks, .from = ahead, .to = r});
        }
    });
}

}  // namespace

// Known blocks double until all P are there: ceil(log2 P) steps and (P-1)/P of the message for any
// P, both optimal (Bruck et al. 1997).
Schedule bruck_all_gather(int ranks) {
    std::vector<int> known{1};
    while (known.back() < ranks) known.push_back(std::min(2 * known.back(), ranks));
    return spreading_all_gather(ranks, known);
}

// As Bruck's, with P halved (rounded up) again and again as the counts of known blocks, which makes
// the mirror image a reduce-scatter with as even steps (Traeff, arXiv 2410.14234).
Schedule circulant_all_gather(int ranks) {
    std::vector<int> known{ranks};
    while (known.back() > 1) known.push_back((known.back() + 1) / 2);
    std::reverse(known.begin(), known.end());
    return spreading_all_gather(ranks, known);
}

Schedule circulant_reduce_scatter(int ranks) {
    return mirrored(circulant_all_gather(ranks), Action::reduce);
}

// 2 ceil(log2 P) steps and exactly 2(P-1)/P of the message for any P: no fold where P is no power
// of two. Best for medium and large messages on odd rank counts.
Schedule circulant_all_reduce(int ranks) {
    return circulant_reduce_scatter(ranks).then(circulant_all_gather(ranks));
}

// A block for the rank d places ahead takes a jump of 2^k for every bit k that is set in d:
// ceil(log2 P) steps, about (log2 P)/2 vectors. Best for tiny blocks (Bruck et al. 1997).
Schedule bruck_all_to_all(int ranks) {
    const Ring ring{ranks};
    const Extent extent{ranks, /*chunks=*/ranks * ranks,
                        static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)))};
    return Schedule(extent, [=](int bit, Step& step) {
        const int jump = 1 << bit;
        for (Rank r : all_ranks(ranks)) {
            if (!step.concerns(r, ring.ahead(r, jump))) continue;
            for (int distance = jump; distance < ranks; ++distance) {
                if ((distance & jump) == 0) continue;
                const Rank sender = ring.behind(r, distance & (jump - 1));
                const Rank receiver = ring.ahead(sender, distance);
                step.copy({.chunks = {sender.index * ranks + receiver.index, 1},
                           .from = r,
                           .to = ring.ahead(r, jump)});
            }
        }
    });
}

}  // namespace tutti
