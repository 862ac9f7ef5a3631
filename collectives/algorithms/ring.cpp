// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Rank c starts with chunk c; copies of it go once round the ring. P-1 steps; each rank sends and
// receives (P-1)/P of the message, the least possible, and exchanges messages with its neighbours
// only. Best for large messages.
Schedule ring_all_gather(int ranks) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int hop, Step& step) {
        for (Rank r : all_ranks(ranks))
            step.copy({.chunks = chunk_of(ring.behind(r, hop)), .from = r, .to = ring.next(r)});
    });
}

// Chunk c sets out from rank c+1, gains one rank's share at each hop, and comes home to rank c
// complete. P-1 steps; each rank sends (P-1)/P of the message.
Schedule ring_reduce_scatter(int ranks) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int hop, Step& step) {
        for (Rank r : all_ranks(ranks))
            step.reduce(
                {.chunks = chunk_of(ring.behind(r, hop + 1)), .from = r, .to = ring.next(r)});
    });
}

// 2(P-1) steps and 2(P-1)/P of the message per rank: the least any all-reduce can send
// (Patarasuk & Yuan 2009). Best for large messages.
Schedule ring_all_reduce(int ranks) {
    return ring_reduce_scatter(ranks).then(ring_all_gather(ranks));
}

// The root sends the blocks to its neighbour, that of the farthest rank first, and everyone passes
// on what is not its own: each block moves one hop per step and all arrive at the last step.
// P-1 steps; the root sends (P-1)/P of the message.
Schedule ring_scatter(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks - 1}, [=](int step_now, Step& step) {
        // The block at a relative rank set out so many steps ago.
        for (int relative = 0; relative <= step_now; ++relative) {
            const int goal = ranks - 1 - (step_now - relative);
            if (relative < goal)
                step.copy({.chunks = chunk_of(ring.ahead(root, goal)),
                           .from = ring.ahead(root, relative),
                           .to = ring.ahead(root, relative + 1)});
        }
    });
}

// The message goes from the root round the ring in P pieces, one behind the other: 2(P-1) steps,
// and every rank sends at most the message once.
Schedule ring_broadcast(int ranks, Rank root) {
    return pipelined(chain_broadcast(ranks, root), ranks);
}

// Every block hops from its sender to its receiver along the ring; at hop h a rank passes on the
// P-h blocks that are not there yet. P-1 steps, (P-1)/2 vectors per rank: all traffic stays between
// neighbours, for wirings where nothing else is connected.
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
