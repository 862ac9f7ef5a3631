// SPDX-License-Identifier: Apache-2.0
// Counts of schedules, compared with counts by hand, and the lower bounds with their formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/count.hpp"

namespace tutti {
namespace {

// A step in which nothing moves between ranks is not counted.
TEST(Counts, HaveNoStepsInWhichNothingMovesBetweenRanks) {
    const Schedule schedule({.ranks = 2, .chunks = 1, .steps = 4}, [](int step, Step& out) {
        if (step == 1) out.copy({.chunks = {}, .from = {0}, .to = {1}});
        if (step == 2) out.copy({.chunks = {}, .from = {1}, .to = {1}});
        if (step == 3) {
            out.copy({.chunks = {}, .from = {1}, .to = {0}});
            out.copy({.chunks = {}, .from = {0}, .to = {1}});
        }
    });
    const Counts counts = count(schedule, CollectiveSpec{Collective::all_reduce, 2});
    EXPECT_EQ(counts.steps, 2);
    EXPECT_EQ(counts.transfers, 3);
    EXPECT_EQ(counts.messages, 3);
    EXPECT_EQ(counts.sent, (std::vector<long>{2, 1}));
    EXPECT_EQ(counts.received, (std::vector<long>{1, 2}));
    EXPECT_EQ(count(Schedule({.ranks = 2, .chunks = 1, .steps = 3}, [](int, Step&) {}),
                    CollectiveSpec{Collective::all_reduce, 2})
                  .steps,
              0);
}

// Where the circle of ranks closes, a message has two runs of chunks. A rank's own chunk in between
// divides no message.
TEST(Counts, OfMessagesCountWhatARankSendsToAnotherInAStepOnce) {
    const Schedule schedule({.ranks = 2, .chunks = 4, .steps = 2}, [](int, Step& out) {
        out.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
        out.copy({.chunks = {1, 1}, .from = {1}, .to = {0}});
        out.copy({.chunks = {2, 1}, .from = {0}, .to = {0}});
        out.copy({.chunks = {3, 1}, .from = {0}, .to = {1}});
    });
    const Counts counts = count(schedule, CollectiveSpec{Collective::all_reduce, 2});
    EXPECT_EQ(counts.transfers, 6);
    EXPECT_EQ(counts.messages, 4);
}

TEST(LowerBound, IsThatOfTheFormulas) {
    for (int ranks = 2; ranks <= 40; ++ranks) {
        const int rounds = static_cast<int>(std::ceil(std::log2(ranks)));
        const double others = (ranks - 1.0) / ranks;
        using enum Collective;
        const std::pair<Collective, double> shares[] = {{all_reduce, 2 * others},
                                                        {reduce_scatter, others},
                                                        {all_gather, others},
                                                        {broadcast, 1},
                                                        {reduce, 1},
                                                        {scatter, others},
                                                        {gather, others},
                                                        {all_to_all, others},
                                                        {barrier, 0},
                                                        {scan, 1},
                                                        {exscan, 1}};
        for (const auto& [collective, share] : shares) {
            const LowerBound bound = lower_bound(collective, ranks);
            EXPECT_EQ(bound.steps, rounds);
            EXPECT_DOUBLE_EQ(bound.busiest, share) << name_of(collective);
        }
    }
    EXPECT_EQ(lower_bound(Collective::all_reduce, 1).steps, 0);
    EXPECT_EQ(lower_bound(Collective::all_reduce, 1).busiest, 0);
}

// A useful bound can be reached: both parts are, by some algorithms of the catalog. A barrier's
// tokens are no bytes of a vector. A chunk holds one value, so in an exscan of more than two ranks
// some send their own vector and then a sum.
TEST(LowerBound, IsReachedBySomeAlgorithm) {
    for (const Collective collective : all_collectives())
        for (const int ranks : {2, 4, 8, 16}) {
            if (collective == Collective::barrier) continue;
            if (collective == Collective::exscan && ranks > 2) continue;
            double least = std::numeric_limits<double>::infinity();
            for (const Algorithm* algorithm : algorithms_of(collective)) {
                const Job job{.collective = collective, .ranks = ranks};
                if (algorithm->refuses(job)) continue;
                const Schedule schedule = algorithm->build(job);
                least =
                    std::min(least, count(schedule, CollectiveSpec{collective, ranks}).busiest());
            }
            EXPECT_DOUBLE_EQ(least, lower_bound(collective, ranks).busiest)
                << name_of(collective) << " " << ranks;
        }
}

// Groups that cut the message into 2 and 3 chunks at the same time cut it into 6, and move all.
TEST(OnEachGroup, CutsTheMessageSoThatItFitsAllGroups) {
    const std::vector<Group> groups{{.members = {{0}, {1}}}, {.members = {{2}, {3}, {4}}}};
    const Schedule both = on_each(5, 1, groups, [](int ranks) {
        return find_algorithm(Collective::all_reduce, "ring")
            .build({.collective = Collective::all_reduce, .ranks = ranks});
    });
    ASSERT_EQ(both.chunks(), 6);
    std::vector<std::set<int>> chunks_sent(5);
    for (int step = 0; step < both.steps(); ++step)
        both.visit(step, [&](const Transfer& transfer) {
            for (int i = 0; i < transfer.chunks.count; ++i)
                at(chunks_sent, transfer.from).insert(transfer.chunks.first + i);
        });
    const std::set<int> all{0, 1, 2, 3, 4, 5};
    for (const auto& chunks : chunks_sent) EXPECT_EQ(chunks, all);
}

// In each round of a round robin every rank sends to another one: none receives from two at once.
TEST(RoundRobin, HasEveryRankSendAndReceiveOnceInEachRound) {
    for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                        Collective::all_reduce, Collective::all_to_all})
        for (const int ranks : {2, 3, 7, 8}) {
            const Schedule schedule = find_algorithm(collective, "round-robin")
                                          .build({.collective = collective, .ranks = ranks});
            for (int step = 0; step < schedule.steps(); ++step) {
                std::vector<int> senders, receivers, all;
                schedule.visit(step, [&](const Transfer& transfer) {
                    senders.push_back(transfer.from.index);
                    receivers.push_back(transfer.to.index);
                });
                for (const Rank rank : all_ranks(ranks)) all.push_back(rank.index);
                std::ranges::sort(senders);
                std::ranges::sort(receivers);
                EXPECT_EQ(senders, all) << name_of(collective) << " " << ranks;
                EXPECT_EQ(receivers, all) << name_of(collective) << " " << ranks;
            }
        }
}

}  // namespace
}  // namespace tutti
