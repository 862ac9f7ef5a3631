// SPDX-License-Identifier: Apache-2.0
#include "results/statistics/bandwidth.hpp"

#include <gtest/gtest.h>

namespace tutti {

TEST(Bandwidth, AlgbwIsSizeOverTimeInDecimalGigabytes) {
    for (const Collective collective : all_collectives())
        EXPECT_DOUBLE_EQ(bandwidth(collective, 4, {1'000'000'000}, 1e9).algbw, 1.0);
}

TEST(Bandwidth, BusFactorsAreThoseOfNcclTests) {
    for (const int ranks : {2, 3, 4, 7, 64}) {
        const double others = (ranks - 1.0) / ranks;
        EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, ranks), 2 * others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, ranks), others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, ranks), others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::scatter, ranks), others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::gather, ranks), others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, ranks), others);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, ranks), 1);
        EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce, ranks), 1);
    }
}

TEST(Bandwidth, OneRankHasNoBus) {
    for (const Collective collective : all_collectives()) {
        EXPECT_EQ(bandwidth(collective, 1, {4096}, 100).busbw, 0);
        EXPECT_GT(bandwidth(collective, 1, {4096}, 100).algbw, 0);
    }
}

TEST(Bandwidth, NoTimeGivesNoBandwidth) {
    EXPECT_EQ(bandwidth(Collective::all_reduce, 2, {4096}, 0), Bandwidth{});
}

}  // namespace tutti
