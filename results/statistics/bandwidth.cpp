// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/bandwidth.hpp"

#include "base/busiest_share.hpp"

namespace tutti {

double bus_factor(Collective collective, int ranks) {
    return ranks <= 1 ? 0 : busiest_share(collective, ranks);
}

Bandwidth bandwidth(Collective collective, int ranks, Bytes size, double nanoseconds,
                    std::string_view blocks) {
    if (nanoseconds <= 0) return {};
    const double algbw = static_cast<double>(size.count) / nanoseconds;  // B/ns is GB/s
    const bool is_ring = collective == Collective::all_to_all && blocks == "next" && ranks > 1;
    return {.algbw = algbw, .busbw = is_ring ? algbw : algbw * bus_factor(collective, ranks)};
}

}  // namespace tutti
