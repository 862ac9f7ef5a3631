// SPDX-License-Identifier: Apache-2.0
// The data that a rank may end with, if every rank has its own data in its buffer, as in a
// program.
#include <gtest/gtest.h>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

// Every rank begins with some data of every block, as before an all-reduce.
std::optional<std::string> fault_of(const Schedule& schedule, Collective collective,
                                    Rank root = {0}) {
    const Collective full = CollectiveSpec{collective, schedule.ranks()}.blocks() == 1
                                ? Collective::all_reduce
                                : Collective::reduce_scatter;
    return prove(schedule, CollectiveSpec{full, schedule.ranks()},
                 CollectiveSpec{collective, schedule.ranks(), root})
        .fault;
}

TEST(Proof, RefusesABroadcastOfAnotherRanksData) {
    const Schedule from_one({.ranks = 3, .chunks = 1, .steps = 1}, [](int, Step& step) {
        for (const int to : {0, 2}) step.copy({.chunks = {}, .from = {1}, .to = {to}});
    });
    EXPECT_TRUE(holds(fault_of(from_one, Collective::broadcast).value_or(""),
                      {"step 0", "rank 0 receives", "chunk 0", "from the start"}));
    EXPECT_EQ(fault_of(from_one, Collective::broadcast, Rank{1}), std::nullopt);
    const Schedule of_another({.ranks = 3, .chunks = 1, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {}, .from = {1}, .to = {2}});
    });
    EXPECT_TRUE(holds(fault_of(of_another, Collective::broadcast).value_or(""),
                      {"rank 1 has", "rank 1's data", "chunk 0", "not rank 0"}));
    const Schedule leaves_one_out({.ranks = 3, .chunks = 1, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {}, .from = {0}, .to = {1}});
    });
    EXPECT_TRUE(holds(fault_of(leaves_one_out, Collective::broadcast).value_or(""),
                      {"rank 2 has", "rank 2's data", "chunk 0", "not rank 0"}));
}

TEST(Proof, RefusesAnAllGatherOfAnotherRanksBlock) {
    const Schedule wrong_way({.ranks = 2, .chunks = 2, .steps = 1}, [](int, Step& step) {
        step.copy({.chunks = {0, 1}, .from = {0}, .to = {1}});
    });
    EXPECT_TRUE(holds(fault_of(wrong_way, Collective::all_gather).value_or(""),
                      {"rank 0 has", "rank 0's data", "chunk 1", "not rank 1"}));
}

TEST(Proof, RefusesAShareInTheResultThatIsOnlyMoved) {
    const Schedule added({.ranks = 2, .chunks = 1, .steps = 1}, [](int, Step& step) {
        step.reduce({.chunks = {}, .from = {0}, .to = {1}});
    });
    EXPECT_TRUE(fault_of(added, Collective::broadcast).has_value());
}

// The initial data of a rank's buffer is in no result of an algorithm that moves data, even if a
// step overwrites it.
TEST(Proof, HoldsForEveryAlgorithmThatMovesWhateverIsInTheBuffers) {
    for (const Algorithm& algorithm : catalog()) {
        if (reduces(algorithm.collective) || !has_buffers(algorithm.collective) ||
            algorithm.collective == Collective::all_to_all)
            continue;
        for (const int ranks : {2, 3, 8}) {
            const Job job{
                .collective = algorithm.collective, .ranks = ranks, .root = Rank{ranks - 1}};
            if (algorithm.refuses(job)) continue;
            EXPECT_EQ(fault_of(algorithm.build(job), job.collective, job.root), std::nullopt)
                << name_of(job.collective) << " " << algorithm.name << " " << ranks;
        }
    }
}

}  // namespace
}  // namespace tutti
