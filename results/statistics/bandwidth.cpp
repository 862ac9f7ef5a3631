// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/bandwidth.hpp"

namespace tutti {

double bus_factor(Collective collective, int ranks) {
    if (ranks <= 1) return 0;
    const double others = static_cast<double>(ranks - 1) / ranks;  // all but a rank's own part
    switch (collective) {
        case Collective::all_reduce:
            return 2 * others;  // reduce_scatter, then all_gather
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::scatter:
        case Collective::gather:
        case Collective::all_to_all:
            return others;
        case Collective::broadcast:
        case Collective::reduce:
            return 1;
    }
    return 0;
}

Bandwidth bandwidth(Collective collective, int ranks, Bytes size, double nanoseconds) {
    if (nanoseconds <= 0) return {};
    const double algbw = static_cast<double>(size.count) / nanoseconds;  // B/ns is GB/s
    return {.algbw = algbw, .busbw = algbw * bus_factor(collective, ranks)};
}

}  // namespace tutti
