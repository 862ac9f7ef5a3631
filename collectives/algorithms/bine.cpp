// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// Returns 1, -1, 3, -5, 11, ...: the places from an even rank ahead to its partner, and from an odd
// rank back to it. Each is about as far as all smaller ones reach together, in both directions.
int places_to_partner(int number) { return (1 - power(-2, number + 1)) / 3; }

Rank partner_of(Rank r, int places, const Ring& ring) {
    return ring.ahead(r, r.index % 2 == 0 ? places : -places);
}

}  // namespace

// Partners exchange all blocks that they know, as in a butterfly, but a partner is about two thirds
// as far away: less traffic where ranks far apart share slow links. ceil(log2 P) steps and (P-1)/P
// of the message for any even P (De Sensi et al. 2025: Bine trees; for powers of two the same as
// Swing, De Sensi et al. 2024). If P is not a power of two, two paths may lead to a block, and the
// first one counts.
Schedule bine_all_gather(int ranks) {
    const Ring ring{ranks};
    const int steps = rounds_to_reach(ranks, 2);
    // Places to the blocks that a rank learns at each step: ahead for even ranks, and back for odd
    // ones.
    std::vector<std::vector<int>> learnt;
    std::vector<int> known{0};
    std::vector<bool> is_known(as_size(ranks));
    is_known[0] = true;
    for (int step = 0; step < steps; ++step) {
        std::vector<int>& now = learnt.emplace_back();
        for (const int of_partner : known) {
            const int places =
                ring.ahead(Rank{0}, places_to_partner(steps - 1 - step) - of_partner).index;
            if (!at(is_known, places)) now.push_back(places);
            at(is_known, places) = true;
        }
        known.insert(known.end(), now.begin(), now.end());
    }
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        for (Rank r : all_ranks(ranks)) {
            const Rank from = partner_of(r, places_to_partner(steps - 1 - now), ring);
            if (!step.concerns(from, r)) continue;
            std::vector<Rank> owners;
            for (const int places : at(learnt, now)) owners.push_back(partner_of(r, places, ring));
            for (const Chunks blocks : runs_of(owners))
                step.copy({.chunks = blocks, .from = from, .to = r});
        }
    });
}

// The all-gather backwards: the largest parts of the vector go to the nearest partner.
Schedule bine_reduce_scatter(int ranks) { return mirrored(bine_all_gather(ranks), Action::reduce); }

// 2 ceil(log2 P) steps and 2(P-1)/P of the message, for any even P: no fold.
Schedule bine_all_reduce(int ranks) {
    return bine_reduce_scatter(ranks).then(bine_all_gather(ranks));
}

// Every informed rank tells its partner, the farthest first: log2 P steps for powers of two, as in
// a binomial tree, whose edges are longer. Ranks are counted from the root.
Schedule bine_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    const int steps = rounds_to_reach(ranks, 2);
    return Schedule({ranks, /*chunks=*/1, steps}, [=](int now, Step& step) {
        std::vector<Rank> informed{Rank{0}};
        for (int round = 0;; ++round) {
            std::vector<Rank> partners;
            for (const Rank r : informed)
                partners.push_back(partner_of(r, places_to_partner(steps - 1 - round), ring));
            if (round < now) {
                informed.insert(informed.end(), partners.begin(), partners.end());
                continue;
            }
            for (std::size_t i = 0; i < informed.size(); ++i)
                step.copy({.chunks = whole_message,
                           .from = ring.ahead(root, informed[i].index),
                           .to = ring.ahead(root, partners[i].index)});
            return;
        }
    });
}

Schedule bine_reduce(int ranks, Rank root) {
    return mirrored(bine_broadcast(ranks, root), Action::reduce);
}

}  // namespace tutti
