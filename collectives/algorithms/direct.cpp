// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms/building_blocks.hpp"

namespace tutti {
namespace {

// Rank `to` combines all ranks' shares of the chunk, including its own, from rank 0 upwards: the
// same order of addition on every rank.
void collect_in_rank_order(int ranks, Chunks chunks, Rank to, Step& step) {
    step.copy({.chunks = chunks, .from = {0}, .to = to});
    for (int from = 1; from < ranks; ++from)
        step.reduce({.chunks = chunks, .from = {from}, .to = to});
}

int one_step_unless_single(int ranks) { return ranks > 1 ? 1 : 0; }

}  // namespace

// Every rank reads all vectors and adds them up itself, all in rank order, so that all get the same
// bits. One step, P-1 vectors per rank. Best for the smallest messages where peers' memory can be
// read (NVLink, shared memory).
Schedule one_shot_all_reduce(int ranks) {
    return Schedule({ranks, /*chunks=*/1, one_step_unless_single(ranks)}, [=](int, Step& step) {
        for (Rank to : all_ranks(ranks)) collect_in_rank_order(ranks, whole_message, to, step);
    });
}

// Every rank collects all shares of its own block in one step; (P-1)/P of the message.
Schedule one_shot_reduce_scatter(int ranks) {
    return Schedule({ranks, /*chunks=*/ranks, one_step_unless_single(ranks)}, [=](int, Step& step) {
        for (Rank to : all_ranks(ranks)) collect_in_rank_order(ranks, chunk_of(to), to, step);
    });
}

// Every rank sends its block directly to all others at once; (P-1)/P of the message.
Schedule one_shot_all_gather(int ranks) {
    const Ring ring{ranks};
    return Schedule({ranks, /*chunks=*/ranks, one_step_unless_single(ranks)}, [=](int, Step& step) {
        for (Rank from : all_ranks(ranks))
            for (int distance = 1; distance < ranks; ++distance)
                step.copy(
                    {.chunks = chunk_of(from), .from = from, .to = ring.ahead(from, distance)});
    });
}

// Each rank adds up one chunk for all, then all fetch the finished chunks: 2 steps and 2(P-1)/P of
// the message, with every link busy at once. Best for medium and larger sizes if all ranks are
// directly connected.
Schedule two_shot_all_reduce(int ranks) {
    return one_shot_reduce_scatter(ranks).then(one_shot_all_gather(ranks));
}

}  // namespace tutti
