// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Bruck's all-gather across nodes, with the ranks of a node as its ports: each fetches other nodes'
// blocks and shares them with its node, so the known nodes multiply by the q ranks of the smallest
// node. 1 + 2 ceil(log_q N) steps for N nodes, and each block enters a node once. Best for small
// blocks (Bienz, Gautam, Kharel 2022, arXiv 2206.03564). If a node has a single rank, it is bruck.
Schedule locality_bruck_all_gather(int ranks, const Placement& placement) {
    const Grouping nodes = placement.nodes();
    const int node_count = int_size(nodes);
    const int ports = int_size(std::ranges::min(nodes, {}, &std::vector<Rank>::size));
    if (ports == 1) return bruck_all_gather(ranks, /*radix=*/2);
    std::vector<std::vector<Chunks>> blocks_of_node;
    for (const auto& node : nodes) blocks_of_node.push_back(runs_of(node));
    std::vector<int> known{1};  // nodes, its own first, whose blocks a node has at each exchange
    while (known.back() < node_count) known.push_back(std::min(known.back() * ports, node_count));
    const int steps = 2 * int_size(known) - 1;
    return Schedule({ranks, /*chunks=*/ranks, steps}, [=](int now, Step& step) {
        const Ring ring{node_count};
        const auto member = [&](int node, int number) { return at(at(nodes, node), number); };
        const auto share = [&](int node, Rank from, Chunks blocks) {
            for (const Rank other : at(nodes, node))
                if (other != from) step.copy({.chunks = blocks, .from = from, .to = other});
        };
        const bool is_inside = now % 2 == 0;  // nodes
        for (int node = 0; node < node_count; ++node) {
            const auto is_member = [&](Rank r) {
                return std::ranges::count(at(nodes, node), r) > 0;
            };
            if (is_inside && step.only() && !is_member(*step.only())) continue;
            for (const Rank r : at(nodes, node))
                if (now == 0) share(node, r, chunk_of(r));
            if (now == 0) continue;
            const int have = at(known, (now - 1) / 2);
            for (int port = 1; port < ports; ++port) {
                const Rank r = member(node, port);
                const int first = port * have;
                const Rank from = member(ring.ahead(Rank{node}, first).index, port);
                if (!is_inside && !step.concerns(from, r)) continue;
                for (int places = first; places < std::min(first + have, node_count); ++places)
                    for (const Chunks blocks :
                         at(blocks_of_node, ring.ahead(Rank{node}, places).index)) {
                        if (is_inside)
                            share(node, r, blocks);
                        else
                            step.copy({.chunks = blocks, .from = from, .to = r});
                    }
            }
        }
    });
}

}  // namespace tutti
