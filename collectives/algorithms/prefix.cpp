// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {
namespace {

// After all vectors have moved on by one rank, the sum of those up to a rank is that of the ranks
// before it. Rank 0 gets no vector and takes no further part. One more step and vector.
Schedule exclusive(int ranks, const Builder& inclusive) {
    const int ends = ranks - 1;
    const Schedule shift({ranks, /*chunks=*/1, std::min(ends, 1)}, [=](int, Step& step) {
        for (Rank r : all_ranks(ends))
            step.copy({.chunks = whole_message, .from = r, .to = {r.index + 1}});
    });
    if (ends == 0) return shift;
    Group all_but_first;
    for (Rank r : all_ranks(ends)) all_but_first.members.push_back({r.index + 1});
    return shift.then(on_each(ranks, /*chunks=*/1, {all_but_first}, inclusive));
}

}  // namespace

// Every rank has the sum of the `width` ranks that end with it, and adds the sums of the ranks 1 to
// radix - 1 widths before it, so the widths multiply by the radix. ceil(log P) steps, the fewest
// possible with radix 2, and radix - 1 vectors in each (Kogge & Stone 1973; Hillis & Steele 1986).
// Best for small messages.
Schedule doubling_scan(int ranks, int radix) {
    return Schedule({ranks, /*chunks=*/1, rounds_to_reach(ranks, radix)}, [=](int round,
                                                                              Step& step) {
        const int width = power(radix, round);
        for (Rank to : all_ranks(ranks))
            for (int back = width; back <= std::min(to.index, (radix - 1) * width); back += width)
                step.reduce({.chunks = whole_message, .from = {to.index - back}, .to = to});
    });
}

// Groups of `radix` neighbours find the sums of each with those before it in the group. The last
// rank of a group has the sum of the group, and takes part in the next level, whose neighbours are
// the last ones of `width` ranks each. On the way back down, the last rank of a group has a
// finished result and adds it to those of the next group. 2 ceil(log P) - 1 steps; with radix 2
// there are fewer than 2P vectors in total, where doubling moves P log2 P (Brent & Kung 1982;
// Sanders & Traeff 2006).
Schedule tree_scan(int ranks, int radix) {
    const int levels = rounds_to_reach(ranks, radix);
    const Schedule up({ranks, /*chunks=*/1, levels}, [=](int level, Step& step) {
        const int width = power(radix, level), group = radix * width;
        for (int first = 0; first < ranks; first += group)
            for (int to = first + 2 * width - 1; to < std::min(first + group, ranks); to += width)
                for (int from = first + width - 1; from < to; from += width)
                    step.reduce({.chunks = whole_message, .from = {from}, .to = {to}});
    });
    return up.then({{ranks, /*chunks=*/1, std::max(levels - 1, 0)}, [=](int now, Step& step) {
                        const int width = power(radix, levels - 2 - now), group = radix * width;
                        for (int from = group - 1; from < ranks; from += group)
                            for (int to = from + width; to < std::min(from + group, ranks);
                                 to += width)
                                step.reduce({.chunks = whole_message, .from = {from}, .to = {to}});
                    }});
}

// The sum grows from rank to rank, and each rank keeps what it passes on: P-1 steps, one vector per
// rank. In segments, all ranks are busy. Best for large messages.
Schedule chain_scan(int ranks) {
    return Schedule({ranks, /*chunks=*/1, /*steps=*/ranks - 1}, [](int from, Step& step) {
        step.reduce({.chunks = whole_message, .from = {from}, .to = {from + 1}});
    });
}

// Every rank adds up the vectors of all ranks before it by itself: one step, up to P-1 vectors per
// rank. Best for the smallest messages where peers' memory can be read.
Schedule one_shot_scan(int ranks) { return doubling_scan(ranks, std::max(ranks, 2)); }

Schedule doubling_exscan(int ranks, int radix) {
    return exclusive(ranks, [=](int group) { return doubling_scan(group, radix); });
}

Schedule tree_exscan(int ranks, int radix) {
    return exclusive(ranks, [=](int group) { return tree_scan(group, radix); });
}

Schedule chain_exscan(int ranks) { return exclusive(ranks, chain_scan); }

// The same without its own vector.
Schedule one_shot_exscan(int ranks) {
    return Schedule({ranks, /*chunks=*/1, std::min(ranks - 1, 1)}, [=](int, Step& step) {
        for (int to = 1; to < ranks; ++to) {
            step.copy({.chunks = whole_message, .from = {0}, .to = {to}});
            for (int from = 1; from < to; ++from)
                step.reduce({.chunks = whole_message, .from = {from}, .to = {to}});
        }
    });
}

}  // namespace tutti
