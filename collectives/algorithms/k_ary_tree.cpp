// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// Every rank forwards the message to `radix` others, level by level: floor(log_k(P(k-1))) steps of
// k messages each. Cut into segments, all levels are busy at once: for medium messages, between the
// k-nomial tree, whose root sends more often, and the chain, which is deeper. By relative rank, i
// sends to k i + 1 .. k i + k.
Schedule k_ary_tree_broadcast(int ranks, Rank root, int radix) {
    const Ring ring{ranks};
    std::vector<int> level_begins{0};
    while (level_begins.back() * radix + 1 < ranks)
        level_begins.push_back(level_begins.back() * radix + 1);
    return Schedule({ranks, /*chunks=*/1, int_size(level_begins) - 1}, [=](int now, Step& step) {
        const int first = at(level_begins, now + 1);
        for (int relative = first; relative < std::min(first * radix + 1, ranks); ++relative)
            step.copy({.chunks = whole_message,
                       .from = ring.ahead(root, (relative - 1) / radix),
                       .to = ring.ahead(root, relative)});
    });
}

Schedule k_ary_tree_reduce(int ranks, Rank root, int radix) {
    return mirrored(k_ary_tree_broadcast(ranks, root, radix), Action::reduce);
}

// Each half of the ranks sums up its own tree, the roots exchange their sums, and both broadcast:
// no rank is the root of all, and the trees are a level lower. In segments, sums rise while results
// come down (Traeff 2021, arXiv 2109.12626).
Schedule dual_root_all_reduce(int ranks, int radix) {
    const int half = (ranks + 1) / 2;
    std::vector<Group> halves(1);
    for (Rank r : all_ranks(ranks)) {
        if (r.index == half) halves.emplace_back();
        halves.back().members.push_back(r);
    }
    const Schedule exchange({ranks, 1, 1}, [=](int, Step& step) {
        if (half == ranks) return;
        step.reduce({.chunks = whole_message, .from = {0}, .to = {half}});
        step.reduce({.chunks = whole_message, .from = {half}, .to = {0}});
    });
    const auto up = [=](int size) { return k_ary_tree_reduce(size, Rank{0}, radix); };
    const auto down = [=](int size) { return k_ary_tree_broadcast(size, Rank{0}, radix); };
    return on_each(ranks, 1, halves, up).then(exchange).then(on_each(ranks, 1, halves, down));
}

}  // namespace tutti
