// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/index.hpp"
#include "collectives/algorithms/building_blocks.hpp"
#include "collectives/schedule/compose.hpp"

namespace tutti {

// A rank can start a message at each step, and a message takes `radix` steps to arrive; a rank that
// has the message sends it to the next rank without it. The fastest tree if the latency is that
// many times the gap between two messages (Bar-Noy, Kipnis 1992): with a latency of 8 gaps, 64
// ranks have it after 24 gaps, in a binomial tree after 48. Ranks are counted from the root.
Schedule postal_broadcast(int ranks, Rank root, int radix) {
    const Ring ring{ranks};
    std::vector<int> begun{1};  // ranks to which the message has been sent before each step
    while (begun.back() < ranks) {
        const int arrived_before = int_size(begun) - radix;
        const int senders = arrived_before < 0 ? 1 : at(begun, arrived_before);
        begun.push_back(std::min(begun.back() + senders, ranks));
    }
    return Schedule({ranks, /*chunks=*/1, int_size(begun) - 1}, [=](int now, Step& step) {
        const int first = at(begun, now);
        for (int relative = first; relative < at(begun, now + 1); ++relative)
            step.copy({.chunks = whole_message,
                       .from = ring.ahead(root, relative - first),
                       .to = ring.ahead(root, relative)});
    });
}

Schedule postal_reduce(int ranks, Rank root, int radix) {
    return mirrored(postal_broadcast(ranks, root, radix), Action::reduce);
}

}  // namespace tutti
