// SPDX-License-Identifier: Apache-2.0
#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

void copy_blocks(Step& step, int ranks, const BlockMessage& message) {
    for (const Rank sender : message.senders)
        for (const Chunks run : message.receivers)
            for (const Chunks part : around(run, sender))
                step.copy({.chunks = {sender.index * ranks + part.first, part.count},
                           .from = message.from,
                           .to = message.to});
}

// Each rank sends all its blocks to its node's leader, the leaders exchange theirs in one step, and
// send each rank what has arrived for it: three steps, and one message for each pair of nodes. Best
// for small blocks; all blocks pass through the leaders.
Schedule two_level_all_to_all(int ranks, const Placement& placement) {
    const int chunks = ranks * ranks;
    const Grouping nodes = placement.nodes();
    std::vector<Rank> all;
    for (const Rank rank : all_ranks(ranks)) all.push_back(rank);
    const Schedule collect({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& node : nodes)
            for (const Rank rank : node)
                if (rank != node.front())
                    copy_blocks(step, ranks, {{rank}, {{0, ranks}}, rank, node.front()});
    });
    const Schedule exchange({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& sending : nodes)
            for (const auto& receiving : nodes)
                if (&sending != &receiving && step.concerns(sending.front(), receiving.front()))
                    copy_blocks(step, ranks,
                                {sending, runs_of(receiving), sending.front(), receiving.front()});
    });
    const Schedule deal({ranks, chunks, 1}, [=](int, Step& step) {
        for (const auto& node : nodes)
            for (const Rank rank : node)
                if (rank != node.front() && step.concerns(node.front(), rank))
                    copy_blocks(step, ranks, {all, {chunk_of(rank)}, node.front(), rank});
    });
    return collect.then(exchange).then(deal);
}

}  // namespace tutti
