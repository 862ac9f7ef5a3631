// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Centralised: the root sends to every rank itself. One step, but P-1 vectors leave the root. Good
// for two or three ranks; the reference for the cost of a central server.
Schedule linear_broadcast(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/1, /*steps=*/ranks > 1 ? 1 : 0}, [=](int, Step& step) {
        for (int distance = 1; distance < ranks; ++distance)
            step.copy({.chunks = whole_message, .from = root, .to = ring.ahead(root, distance)});
    });
}

Schedule linear_reduce(int ranks, Rank root) {
    return mirrored(linear_broadcast(ranks, root), Action::reduce);
}

Schedule linear_scatter(int ranks, Rank root) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, /*steps=*/ranks > 1 ? 1 : 0}, [=](int, Step& step) {
        for (int distance = 1; distance < ranks; ++distance) {
            const Rank to = ring.ahead(root, distance);
            step.copy({.chunks = chunk_of(to), .from = root, .to = to});
        }
    });
}

Schedule linear_gather(int ranks, Rank root) {
    return mirrored(linear_scatter(ranks, root), Action::copy);
}

// Every rank sends to one rank, which adds up and sends the result: a parameter server with one
// server.
Schedule linear_all_reduce(int ranks) {
    return linear_reduce(ranks, Rank{0}).then(linear_broadcast(ranks, Rank{0}));
}

Schedule linear_all_gather(int ranks) {
    return without_returns(linear_gather(ranks, Rank{0}).then(linear_broadcast(ranks, Rank{0})),
                           {Collective::all_gather, ranks});
}

Schedule linear_reduce_scatter(int ranks) {
    return linear_reduce(ranks, Rank{0}).then(linear_scatter(ranks, Rank{0}));
}

// Every rank sends to every other at once: one step, all links at the same time.
Schedule linear_all_to_all(int ranks) {
    const Extent extent{ranks, /*chunks=*/ranks * ranks, /*steps=*/ranks > 1 ? 1 : 0};
    const Ring ring{ranks};
    return Schedule(extent, [=](int, Step& step) {
        for (Rank r : all_ranks(ranks))
            for (int distance = 1; distance < ranks; ++distance) {
                const Rank to = ring.ahead(r, distance);
                step.copy({.chunks = {r.index * ranks + to.index, 1}, .from = r, .to = to});
            }
    });
}

}  // namespace tutti
