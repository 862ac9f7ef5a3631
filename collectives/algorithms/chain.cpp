// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Passes the message from rank to rank, starting at the root: P-1 steps. By itself it is slow; cut
// into segments that follow one another (see pipelined), every link is busy, and a large message
// takes the time of sending it once. Best for few ranks and large messages.
Schedule chain_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/1, /*steps=*/ranks - 1}, [=](int relative, Step& step) {
        step.copy({.chunks = whole_message,
                   .from = ring.ahead(root, relative),
                   .to = ring.ahead(root, relative + 1)});
    });
}

// The chain backwards: the sum grows from the last rank towards the root.
Schedule chain_reduce(int ranks, Rank root) {
    return mirrored(chain_broadcast(ranks, root), Action::reduce);
}

// Up the chain as a sum, down again as the result: 2(P-1) steps, pipelined + segments - 1; each
// rank sends at most two vectors.
Schedule chain_all_reduce(int ranks) {
    return chain_reduce(ranks, Rank{0}).then(chain_broadcast(ranks, Rank{0}));
}

}  // namespace tutti
