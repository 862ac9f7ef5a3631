// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/direct/unregistered_method.hpp"

#include <algorithm>

#include "collectives/execute/plan/layout.hpp"

namespace tutti {

bool is_worth_fetching(const Call& call, int ranks, int chunks, const HostTuning& tuning) {
    const Bytes all{total_bytes(call, ranks)};
    switch (call.collective) {
        case Collective::reduce:  // staged, the work is shared: one rank copies what another adds
            return false;
        case Collective::all_reduce:  // if each rank adds its share only
            return all >= tuning.fetch_all_reduce_from && chunks >= ranks;
        case Collective::broadcast:
            return all >= tuning.fetch_from;
        case Collective::scatter:
            return all.count / ranks >= tuning.fetch_from.count;
        default:
            return all.count / ranks * (ranks - 1) >= tuning.fetch_from.count;
    }
}

int staged_pieces(const Call& call, int ranks, int chunks, const HostTuning& tuning) {
    const Layout layout(call, CollectiveSpec{call.collective, ranks, call.root}, Rank{0}, chunks);
    const auto chunk = static_cast<std::int64_t>(layout.most_bytes_of_chunk());
    return static_cast<int>(std::clamp<std::int64_t>(chunk / tuning.stage_piece.count, 1, 4096));
}

}  // namespace tutti
