// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/bandwidth.hpp"

#include "base/busiest_share.hpp"

namespace tutti {

double bus_factor(Collective collective, int ranks) {
    return ranks <= 1 ? 0 : busiest_share(collective, ranks);
}

Bandwidth bandwidth(Collective collective, int ranks, Bytes size, double nanoseconds) {
    if (nanoseconds <= 0) return {};
    const double algbw = static_cast<double>(size.count) / nanoseconds;  // B/ns is GB/s
    return {.algbw = algbw, .busbw = algbw * bus_factor(collective, ranks)};
}

}  // namespace tutti
