// SPDX-License-Identifier: Apache-2.0
#include "results/records/identity.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "results/records/metric.hpp"
#include "samples.hpp"

namespace tutti {

TEST(SessionId, IsAVersion7UuidAndNeverTheSameTwice) {
    const std::regex uuid7("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    const std::string first = new_session_id();
    EXPECT_TRUE(std::regex_match(first, uuid7)) << first;
    EXPECT_NE(first, new_session_id());
}

TEST(UtcNow, IsRfc3339) {
    const std::regex rfc3339(R"(20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}Z)");
    EXPECT_TRUE(std::regex_match(utc_now(), rfc3339)) << utc_now();
}

TEST(PointId, IsTheSameForEverAndDiffersWithEveryPartOfTheKey) {
    const Key key = sample_point().key;
    EXPECT_EQ(point_id(key), "a0a7a2b0354c3dec");  // stored files refer to it

    std::vector<Key> others(12, key);
    others[0].configuration.algorithm = "tree";
    others[1].bytes = {2048};
    others[2].inplace = true;
    others[3].op.reset();
    others[4].root = Rank{0};
    others[5].configuration.segment = {};
    others[6].placement.clear();
    others[7].configuration.impl = "mpi";
    others[8].configuration.transport = "mpi";
    others[9].configuration.order = "topology";
    others[10].configuration.radix = 4;
    others[11].configuration.channels = 2;
    for (const Key& other : others) EXPECT_NE(point_id(other), point_id(key));
}

TEST(CandidateName, IsTheAlgorithmOrTheBaseline) {
    EXPECT_EQ(candidate_name({.configuration = {.algorithm = "ring"}}), "ring");
    EXPECT_EQ(candidate_name({.configuration = {.algorithm = "ring", .order = "topology"}}),
              "ring@topology");
    EXPECT_EQ(candidate_name({.configuration = {.algorithm = "tree", .radix = 4}}), "tree[k4]");
    EXPECT_EQ(candidate_name(
                  {.configuration = {.algorithm = "ring", .order = "topology", .channels = 2}}),
              "ring[x2]@topology");
    const Key all{
        .configuration = {
            .algorithm = "two-level-butterfly", .segment = {65536}, .radix = 3, .channels = 2}};
    EXPECT_EQ(candidate_name(all), "two-level-butterfly[k3,x2]");
    EXPECT_EQ(candidate_name(all, SegmentInName::shown), "two-level-butterfly[64K,k3,x2]");
    EXPECT_EQ(candidate_name({.configuration = {.algorithm = "ring"}}, SegmentInName::shown),
              "ring");
    EXPECT_EQ(candidate_name({.configuration = {.impl = "mpi"}}), "mpi");
    EXPECT_EQ(candidate_name({.configuration = {.impl = "mpi", .algorithm = "mpi"}}), "mpi");
    EXPECT_EQ(candidate_name({.configuration = {.impl = "mpi",
                                                .algorithm = "chain",
                                                .segment = {1 << 15},
                                                .radix = 2}}),
              "mpi/chain[32K,k2]");
    EXPECT_EQ(candidate_name({.configuration = {.impl = "mpi", .algorithm = "rabenseifner"}}),
              "mpi/rabenseifner");
}

TEST(MetricName, HasMemoryRanksHostsAndPlacement) {
    Key key = sample_point().key;
    EXPECT_EQ(metric_of(key),
              "all_reduce 1K float sum host ring[512] (shm), 4 ranks on 2 hosts, scatter");
    key.placement.clear();
    key.nranks = 2;
    EXPECT_EQ(metric_of(key), "all_reduce 1K float sum host ring[512] (shm), 2 ranks");
    key.nranks = 1;
    key.buf = "registered";
    EXPECT_EQ(metric_of(key), "all_reduce 1K float sum registered ring[512] (shm), 1 rank");
    key.nranks = 5;
    EXPECT_TRUE(metric_of(key).ends_with(", 5 ranks on 3 hosts"));
    EXPECT_EQ(metric_of(StepKey{.workload = "ddp",
                                .model = "mlp",
                                .settings = "scale=0.1",
                                .method = "ring/shm",
                                .nranks = 4,
                                .ppn = 4}),
              "ddp mlp scale=0.1 ring/shm, 4 ranks");
}

TEST(MetricName, WithoutItsPlaceIsThatOfOlderVersions) {
    const std::string call = "all_reduce 1K float sum host ring[8,k2] (shm)";
    const std::string two = ", 2 ranks", four = ", 4 ranks on 2 hosts";
    for (const std::string& place :
         {std::string(), std::string(", 1 rank"), two, four, four + ", x"})
        EXPECT_EQ(without_place(call + place), call);
    EXPECT_EQ(without_place("tree" + two + " -> ring" + four), "tree -> ring");
    EXPECT_EQ(without_place("rate, 4 calls"), "rate, 4 calls");
    EXPECT_EQ(without_place("4 ranks, mean"), "4 ranks, mean");
}

TEST(MetricName, GetsTheRanksThatOlderVersionsLeftOut) {
    const std::string name = "all_reduce 1K float sum host ring (shm)";
    EXPECT_EQ(with_ranks(name, 2), name + ", 2 ranks");
    EXPECT_EQ(with_ranks(name + ", 4 ranks", 2), name + ", 4 ranks");
    EXPECT_EQ(with_ranks(name, 0), name);                          // not known
    EXPECT_EQ(with_ranks("took (\\S+) ms", 2), "took (\\S+) ms");  // a number of a program
}

}  // namespace tutti
