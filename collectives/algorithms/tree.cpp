// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

int rounds_to_reach(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }

}  // namespace

// Everyone who has the message passes it on, so the informed double at each step: ceil(log2 P)
// steps, the fewest possible. Best for small messages. Seats are counted from the root: seat i
// tells seat i + informed.
Schedule binomial_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/1, rounds_to_reach(ranks)}, [=](int round, Step& step) {
        const int informed = 1 << round;
        const int tellers = std::min(informed, ranks - informed);
        for (int seat = 0; seat < tellers; ++seat)
            step.copy({.chunks = whole_message,
                       .from = ring.ahead(root, seat),
                       .to = ring.ahead(root, seat + informed)});
    });
}

// The same tree backwards: pairs of partial sums merge until the root has all.
Schedule binomial_reduce(int ranks, Rank root) {
    return mirrored(binomial_broadcast(ranks, root), Action::reduce);
}

// The root hands half of the blocks to the seat in the middle, and both do the same with their
// half: ceil(log2 P) steps, and the root sends each block once, (P-1)/P of the message: optimal in
// both (Chan et al. 2007), but inner seats carry blocks of others.
Schedule binomial_scatter(int ranks, Rank root) {
    const Ring ring{ranks};
    const int rounds = rounds_to_reach(ranks);
    return Schedule({ranks, /*chunks=*/ranks, rounds}, [=](int round, Step& step) {
        const int half = 1 << (rounds - 1 - round);
        for (int seat = 0; seat + half < ranks; seat += 2 * half) {
            const Rank to = ring.ahead(root, seat + half);
            for (const Chunks blocks : ring.arc(to, std::min(half, ranks - seat - half)))
                step.copy({.chunks = blocks, .from = ring.ahead(root, seat), .to = to});
        }
    });
}

Schedule binomial_gather(int ranks, Rank root) {
    return mirrored(binomial_scatter(ranks, root), Action::copy);
}

// Up one tree, down the same: 2 ceil(log2 P) steps. Best for small messages.
Schedule tree_all_reduce(int ranks) {
    return binomial_reduce(ranks, Rank{0}).then(binomial_broadcast(ranks, Rank{0}));
}

Schedule tree_all_gather(int ranks) {
    return binomial_gather(ranks, Rank{0}).then(binomial_broadcast(ranks, Rank{0}));
}

Schedule tree_reduce_scatter(int ranks) {
    return binomial_reduce(ranks, Rank{0}).then(binomial_scatter(ranks, Rank{0}));
}

}  // namespace tutti
