// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// At round k every rank sends its block to the rank k places ahead, so each round is a permutation
// and no rank receives from two at once. P-1 rounds, (P-1)/P of the message; every block is sent
// directly by its owner. Best on a full crossbar.
Schedule round_robin_all_gather(int ranks) {
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int round, Step& step) {
        for_each_pair(step, ranks, round + 1, [&](Rank from, Rank to) {
            step.copy({.chunks = chunk_of(from), .from = from, .to = to});
        });
    });
}

// Each rank owns one chunk; at round k it receives the share of the rank k places before it.
Schedule round_robin_reduce_scatter(int ranks) {
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int round, Step& step) {
        for_each_pair(step, ranks, round + 1, [&](Rank from, Rank owner) {
            step.reduce({.chunks = chunk_of(owner), .from = from, .to = owner});
        });
    });
}

// 2(P-1) rounds and 2(P-1)/P of the message, like the ring; but no share waits for another one.
Schedule round_robin_all_reduce(int ranks) {
    return round_robin_reduce_scatter(ranks).then(round_robin_all_gather(ranks));
}

// The root serves one rank after the other: P-1 rounds, (P-1)/P of the message.
Schedule round_robin_scatter(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int round, Step& step) {
        const Rank served = ring.ahead(root, round + 1);
        step.copy({.chunks = chunk_of(served), .from = root, .to = served});
    });
}

Schedule round_robin_gather(int ranks, Rank root) {
    return mirrored(round_robin_scatter(ranks, root), Action::copy);
}

// The root sends one chunk to each rank. Then each rank sends its chunk to all ranks but the root.
// This takes 2(P-1) rounds and 2(P-1)/P of the message.
Schedule round_robin_broadcast(int ranks, Rank root) {
    return without_returns(round_robin_scatter(ranks, root).then(round_robin_all_gather(ranks)),
                           {Collective::broadcast, ranks, root});
}

Schedule round_robin_reduce(int ranks, Rank root) {
    return round_robin_reduce_scatter(ranks).then(round_robin_gather(ranks, root));
}

// At round k every rank sends its block for the rank k places ahead: P-1 rounds, (P-1)/P of the
// vector, each block once. Best for large blocks.
Schedule round_robin_all_to_all(int ranks) {
    const Extent extent{ranks, /*chunks=*/ranks * ranks, /*steps=*/ranks - 1};
    return Schedule(extent, [=](int round, Step& step) {
        for_each_pair(step, ranks, round + 1, [&](Rank from, Rank to) {
            step.copy({.chunks = {from.index * ranks + to.index, 1}, .from = from, .to = to});
        });
    });
}

}  // namespace tutti
