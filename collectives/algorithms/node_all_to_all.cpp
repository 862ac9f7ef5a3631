// SPDX-License-Identifier: Apache-2.0
#include "base/index.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

// Each rank sends all its blocks to its node's leader, the leaders exchange theirs in one step, and
// send each rank what has arrived for it: three steps, and one message for each pair of nodes. Best
// for small blocks; all blocks pass through the leaders.
Schedule two_level_all_to_all(int ranks, const Placement& placement) {
    const int chunks = ranks * ranks;
    const Grouping nodes = placement.nodes();
    const Schedule collect({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& node : nodes)
            for (const Rank rank : node) {
                if (rank == node.front()) continue;
                const int first = rank.index * ranks;
                step.copy({.chunks = {first, rank.index}, .from = rank, .to = node.front()});
                step.copy({.chunks = {first + rank.index + 1, ranks - rank.index - 1},
                           .from = rank,
                           .to = node.front()});
            }
    });
    const Schedule exchange({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& sending : nodes)
            for (const auto& receiving : nodes) {
                if (&sending == &receiving || !step.concerns(sending.front(), receiving.front()))
                    continue;
                const auto runs = runs_of(receiving);
                for (const Rank rank : sending)
                    for (const Chunks run : runs)
                        step.copy({.chunks = {rank.index * ranks + run.first, run.count},
                                   .from = sending.front(),
                                   .to = receiving.front()});
            }
    });
    const Schedule deal({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& node : nodes)
            for (const Rank rank : node) {
                if (rank == node.front() || !step.concerns(node.front(), rank)) continue;
                for (const Rank from : all_ranks(ranks))
                    if (from != rank)
                        step.copy({.chunks = {from.index * ranks + rank.index, 1},
                                   .from = node.front(),
                                   .to = rank});
            }
    });
    return collect.then(exchange).then(deal);
}

}  // namespace tutti
