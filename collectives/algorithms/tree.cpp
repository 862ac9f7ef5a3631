// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Every rank that has the message sends it to radix-1 others, so the informed ranks multiply at
// each step: ceil(log2 P) steps with radix 2 (a binomial tree), the minimum if a rank sends one
// message at a time. A wider tree has fewer steps with radix-1 messages each: better if starting a
// message costs a sender less than waiting for one costs a receiver. Best for small messages. By
// relative rank (counted from the root), i sends to i + informed, i + 2 informed, ...
Schedule tree_broadcast(int ranks, Rank root, int radix) {
    const Ring ring{ranks};
    return Schedule(
        {ranks, /*chunks=*/1, rounds_to_reach(ranks, radix)}, [=](int round, Step& step) {
            const int informed = power(radix, round);
            for (int ahead = informed; ahead < std::min(radix * informed, ranks); ahead += informed)
                for (int relative = 0; relative < std::min(informed, ranks - ahead); ++relative)
                    step.copy({.chunks = whole_message,
                               .from = ring.ahead(root, relative),
                               .to = ring.ahead(root, relative + ahead)});
        });
}

// The same tree backwards: partial sums merge until the root has all.
Schedule tree_reduce(int ranks, Rank root, int radix) {
    return mirrored(tree_broadcast(ranks, root, radix), Action::reduce);
}

// The root cuts the ranks into `radix` equal parts and sends the blocks of each to its first rank,
// and all these do the same with their part: ceil(log P) steps, and the root sends each block once,
// (P-1)/P of the message. Both are optimal with radix 2 (Chan et al. 2007), but inner ranks forward
// blocks of others.
Schedule tree_scatter(int ranks, Rank root, int radix) {
    const Ring ring{ranks};
    const int rounds = rounds_to_reach(ranks, radix);
    return Schedule({ranks, /*chunks=*/ranks, rounds}, [=](int round, Step& step) {
        const int part = power(radix, rounds - 1 - round);
        for (int head = 0; head + part < ranks; head += radix * part)
            for (int relative = head + part; relative < std::min(head + radix * part, ranks);
                 relative += part) {
                const Rank to = ring.ahead(root, relative);
                for (const Chunks blocks : ring.arc(to, std::min(part, ranks - relative)))
                    step.copy({.chunks = blocks, .from = ring.ahead(root, head), .to = to});
            }
    });
}

Schedule tree_gather(int ranks, Rank root, int radix) {
    return mirrored(tree_scatter(ranks, root, radix), Action::copy);
}

// Up one tree, down the same: 2 ceil(log P) steps. Best for small messages.
Schedule tree_all_reduce(int ranks, int radix) {
    return tree_reduce(ranks, Rank{0}, radix).then(tree_broadcast(ranks, Rank{0}, radix));
}

Schedule tree_all_gather(int ranks, int radix) {
    return without_returns(
        tree_gather(ranks, Rank{0}, radix).then(tree_broadcast(ranks, Rank{0}, radix)),
        {Collective::all_gather, ranks});
}

Schedule tree_reduce_scatter(int ranks, int radix) {
    return tree_reduce(ranks, Rank{0}, radix).then(tree_scatter(ranks, Rank{0}, radix));
}

}  // namespace tutti
