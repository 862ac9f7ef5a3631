// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Rank c starts with chunk c; copies of it travel once around the ring. P-1 steps; each rank sends
// and receives (P-1)/P of the message, the minimum, and exchanges messages only with its
// neighbours. Best for large messages.
Schedule ring_all_gather(int ranks) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int hop, Step& step) {
        for (Rank r : all_ranks(ranks))
            step.copy({.chunks = chunk_of(ring.behind(r, hop)), .from = r, .to = ring.next(r)});
    });
}

// Chunk c starts at rank c+1, gains one rank's share at each hop, and arrives complete at rank c.
// P-1 steps; each rank sends (P-1)/P of the message.
Schedule ring_reduce_scatter(int ranks) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int hop, Step& step) {
        for (Rank r : all_ranks(ranks))
            step.reduce(
                {.chunks = chunk_of(ring.behind(r, hop + 1)), .from = r, .to = ring.next(r)});
    });
}

// 2(P-1) steps and 2(P-1)/P of the message per rank: the minimum for any all-reduce (Patarasuk &
// Yuan 2009). Best for large messages.
Schedule ring_all_reduce(int ranks) {
    return ring_reduce_scatter(ranks).then(ring_all_gather(ranks));
}

// The root sends the blocks to its neighbour, that of the farthest rank first, and every rank
// forwards all blocks but its own: each block moves one hop per step and all arrive at the last
// step. P-1 steps; the root sends (P-1)/P of the message.
Schedule ring_scatter(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int step_now, Step& step) {
        // The block at a relative rank started that many steps ago.
        for (int relative = 0; relative <= step_now; ++relative) {
            const int goal = ranks - 1 - (step_now - relative);
            if (relative < goal)
                step.copy({.chunks = chunk_of(ring.ahead(root, goal)),
                           .from = ring.ahead(root, relative),
                           .to = ring.ahead(root, relative + 1)});
        }
    });
}

// The message goes from the root around the ring in P consecutive pieces: 2(P-1) steps, and every
// rank sends the message at most once.
Schedule ring_broadcast(int ranks, Rank root) {
    return pipelined(chain_broadcast(ranks, root), ranks);
}

// Scatters along a binomial tree, then all-gathers around the ring: ceil(log2 P) + P-1 steps, and
// 2(P-1)/P of the message from the root. MPICH's broadcast of large messages; fewer steps than
// ring, which sends half as much.
Schedule scatter_ring_broadcast(int ranks, Rank root) {
    return without_returns(tree_scatter(ranks, root).then(ring_all_gather(ranks)),
                           {Collective::broadcast, ranks, root});
}

// Every block hops from its sender to its receiver along the ring; at hop h a rank forwards the P-h
// blocks that have not arrived yet. P-1 steps, (P-1)/2 vectors per rank: all traffic is between
// neighbours, for networks that connect only these.
Schedule ring_all_to_all(int ranks) {
    const Ring ring{ranks};
    const Extent extent{ranks, /*chunks=*/ranks * ranks, /*steps=*/ranks - 1};
    return Schedule(extent, [=](int hop, Step& step) {
        for (Rank r : all_ranks(ranks)) {
            if (!step.concerns(r, ring.next(r))) continue;
            const Rank sender = ring.behind(r, hop);
            for (const Chunks receivers : ring.arc(ring.next(r), ranks - 1 - hop))
                step.copy({.chunks = {sender.index * ranks + receivers.first, receivers.count},
                           .from = r,
                           .to = ring.next(r)});
        }
    });
}

}  // namespace tutti
